package files

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// GetMetadata tells what is at a path.
func (*Files) GetMetadata(_ context.Context, p *protocol.GetMetadataParams) (*protocol.FileMetadata, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return nil, err
	}
	place, err := locate(path, p.FollowSymlinks)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	st, err := place.status(false)
	link := err == nil && st.isLink()
	switch {
	case link && !place.follow:
		return nil, errLink
	case link:
		st, err = place.status(true)
	}
	if err != nil {
		return nil, err
	}
	if place.follow { // where what is from before 1970 is not known
		st.born, st.modified = max(st.born, 0), max(st.modified, 0)
	}
	return &protocol.FileMetadata{
		IsDirectory:  st.mode.IsDir(),
		IsFile:       st.mode.IsRegular(),
		IsSymlink:    link,
		Size:         st.size,
		CreatedAtMs:  st.born,
		ModifiedAtMs: st.modified,
	}, nil
}

// Canonicalize returns the path without symbolic links of what exists.
func (*Files) Canonicalize(_ context.Context, p *protocol.CanonicalizeParams) (*protocol.CanonicalizeResult, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return nil, err
	}
	path, err = realPath(path)
	if err != nil {
		return nil, err
	}
	uri, err := protocol.PathURIFromNative(path)
	if err != nil {
		return nil, err
	}
	return &protocol.CanonicalizeResult{Path: uri}, nil
}

// realPath returns the path without symbolic links. What is wrong with the path
// is the system's to say.
func realPath(path string) (string, error) {
	if _, err := (*dir)(nil).status(path, true); err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		if _, ok := errors.AsType[syscall.Errno](err); !ok {
			return "", syscall.ELOOP // the one thing that it finds out by itself
		}
	}
	return path, err
}
