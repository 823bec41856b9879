package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/airlock-exec/airlock/protocol"
)

// maxDepth bounds how far down directories are made here: an executor can tell of
// one in another without an end.
const maxDepth = 256

var (
	errTooDeep = fmt.Errorf("left out: it is more than %d directories down", maxDepth)
	errBadName = errors.New("refused: that is no name that a file can have here")
)

// get walks through a directory of the executor's host.
func (t *tree) get(ctx context.Context, source protocol.PathURI, local string) error {
	if err := os.MkdirAll(local, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(local)
	if err != nil {
		return err
	}
	defer root.Close()
	defer t.files.busy.Wait() // before the root is closed
	entries, err := List(ctx, t.Files, source)
	if err != nil {
		return err
	}
	t.getAll(ctx, entries, root, "")
	return nil
}

// getAll copies what stands in a directory to one below the root.
func (t *tree) getAll(ctx context.Context, entries []Entry, root *os.Root, dir string) {
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		if !isName(e.Name) {
			t.fail(ctx, &fs.PathError{Op: "get", Path: e.Path.String(), Err: errBadName})
			continue
		}
		name := filepath.Join(dir, e.Name)
		switch {
		case e.IsDirectory:
			t.fail(ctx, t.getDirectory(ctx, e.Path, root, name))
		case e.IsFile:
			t.file(ctx, func() error { return t.getInto(ctx, e.Path, root, name) })
		default:
			t.fail(ctx, &fs.PathError{Op: "get", Path: e.Path.String(), Err: ErrLeftOut})
		}
	}
}

func (t *tree) getDirectory(ctx context.Context, source protocol.PathURI, root *os.Root, name string) error {
	info, err := t.Files.Stat(ctx, source)
	switch {
	case err != nil:
		return err
	case info.Metadata().IsSymlink:
		return &fs.PathError{Op: "get", Path: source.String(), Err: ErrLinkLeftOut}
	case strings.Count(name, string(filepath.Separator)) >= maxDepth:
		return &fs.PathError{Op: "get", Path: source.String(), Err: errTooDeep}
	}
	if err := root.MkdirAll(name, 0o777); err != nil {
		return about(err, filepath.Join(root.Name(), name))
	}
	entries, err := List(ctx, t.Files, source)
	if err != nil {
		return err
	}
	t.getAll(ctx, entries, root, name)
	return nil
}

// isName tells whether something is the name of one file here.
func isName(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, "/\x00"+string(filepath.Separator))
}
