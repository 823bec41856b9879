package transfer

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/airlock-exec/airlock/protocol"
)

// put walks through a directory here.
func (t *tree) put(ctx context.Context, local string, destination protocol.PathURI) error {
	top, err := filepath.EvalSymlinks(local)
	if err != nil {
		return err
	}
	return filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			t.fail(ctx, err)
			return nil // what can't be looked into is skipped anyway
		}
		rest, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		to, err := destination.Join(filepath.ToSlash(rest))
		if err == nil {
			return t.putOne(ctx, path, to)
		}
		t.fail(ctx, &fs.PathError{Op: "put", Path: path, Err: err})
		return nil
	})
}

// putOne copies what the walk has come to.
func (t *tree) putOne(ctx context.Context, path string, to protocol.PathURI) error {
	info, err := os.Stat(path)
	switch {
	case err != nil: // a link that leads nowhere, or it has vanished
		t.fail(ctx, err)
	case info.IsDir() && isLink(path):
		t.fail(ctx, &fs.PathError{Op: "put", Path: path, Err: ErrLinkLeftOut})
	case info.IsDir():
		if err := t.Files.MkdirAll(ctx, to); err != nil {
			t.fail(ctx, err)
			return fs.SkipDir
		}
	case info.Mode().IsRegular():
		t.file(ctx, func() error { return t.Put(ctx, path, to) })
	default:
		t.fail(ctx, &fs.PathError{Op: "put", Path: path, Err: ErrLeftOut})
	}
	return nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
