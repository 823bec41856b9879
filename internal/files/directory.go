package files

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// CreateDirectory makes a directory, with its parents if asked to.
func (*Files) CreateDirectory(_ context.Context, p *protocol.CreateDirectoryParams) (*protocol.CreateDirectoryResult, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Write)
	if err != nil {
		return nil, err
	}
	recursive := p.Recursive == nil || *p.Recursive
	follow := p.FollowSymlinks == nil || *p.FollowSymlinks
	switch {
	case follow && recursive:
		err = makeAll(path)
	case follow:
		err = (*dir)(nil).mkdir(path)
	case recursive:
		err = makeAllNoFollow(path)
	default:
		err = makeNoFollow(path)
	}
	if err != nil {
		return nil, err
	}
	return &protocol.CreateDirectoryResult{}, nil
}

// makeAll makes a directory and its parents, unless they are there.
func makeAll(path string) error {
	err := (*dir)(nil).mkdir(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		if err := makeAll(parent); err != nil {
			return err
		}
		err = (*dir)(nil).mkdir(path)
	}
	if err == nil {
		return nil
	}
	if st, statErr := (*dir)(nil).status(path, true); statErr == nil && st.mode.IsDir() {
		return nil
	}
	return err
}

// makeAllNoFollow does the same where no part of the path may be a symbolic link.
func makeAllNoFollow(path string) error {
	at, err := walkDown(path, func(at *dir, name string) error {
		if err := at.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
	if err == nil {
		at.Close()
	}
	return err
}

func makeNoFollow(path string) error {
	follow := false
	place, err := locate(path, &follow)
	if err != nil {
		return err
	}
	defer place.Close()
	if place.isTop() {
		return protocol.Errorf(protocol.CodeInternal, "directory already exists")
	}
	return place.dir.mkdir(place.name)
}

// ReadDirectory lists a directory, in the order of the names.
func (*Files) ReadDirectory(ctx context.Context, p *protocol.ReadDirectoryParams) (*protocol.ReadDirectoryResult, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return nil, err
	}
	entries, err := readDirectory(ctx, path, limits.ListedEntries)
	if err != nil {
		return nil, err
	}
	return &protocol.ReadDirectoryResult{Entries: entries}, nil
}

// readDirectory fails if there are more than most entries.
func readDirectory(ctx context.Context, path string, most int) ([]protocol.DirectoryEntry, error) {
	entries, err := list(ctx, path, true, most+1)
	switch {
	case err != nil:
		return nil, err
	case len(entries) > most:
		return nil, protocol.Errorf(protocol.CodeInternal,
			"the directory has more than %d entries, which are too many for an answer; have a command list them", most)
	}
	told := make([]protocol.DirectoryEntry, len(entries))
	for i, e := range entries {
		told[i] = protocol.DirectoryEntry{
			FileName:    lossy(e.name),
			IsDirectory: e.kind.IsDir(),
			IsFile:      e.kind.IsRegular(),
		}
	}
	return told, nil
}
