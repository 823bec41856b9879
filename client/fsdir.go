package client

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/airlock-exec/airlock/protocol"
)

// Dir returns a directory, with all that is below it, as a file system for whoever
// takes one of package io/fs. It implements [fs.StatFS], [fs.ReadFileFS],
// [fs.ReadDirFS] and [fs.SubFS]; its files are those of [Files.Open]. Symbolic links
// may lead out of the directory. The context bounds all that is done with it.
func (f *Files) Dir(ctx context.Context, dir protocol.PathURI) fs.FS {
	return &dirFS{
		root: dir,
		stat: func(path protocol.PathURI) (*FileInfo, error) { return f.Stat(ctx, path) },
		open: func(path protocol.PathURI, info *FileInfo) (*File, error) { return f.open(ctx, path, info) },
		read: func(path protocol.PathURI) ([]byte, error) { return f.ReadFile(ctx, path) },
		list: func(path protocol.PathURI) ([]fs.DirEntry, error) { return f.ReadDir(ctx, path) },
	}
}

// dirFS is a directory as a file system.
type dirFS struct {
	root protocol.PathURI
	stat func(protocol.PathURI) (*FileInfo, error)
	open func(protocol.PathURI, *FileInfo) (*File, error)
	read func(protocol.PathURI) ([]byte, error)
	list func(protocol.PathURI) ([]fs.DirEntry, error)
}

// below calls something with the path of a name, and has its error name that.
func below[R any](d *dirFS, op, name string, do func(protocol.PathURI) (R, error)) (R, error) {
	path, err := d.path(name)
	var result R
	if err == nil {
		result, err = do(path)
	}
	if err == nil {
		return result, nil
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return *new(R), &fs.PathError{Op: op, Path: name, Err: err}
}

// path returns what a name stands for.
func (d *dirFS) path(name string) (protocol.PathURI, error) {
	if !fs.ValidPath(name) {
		return protocol.PathURI{}, fs.ErrInvalid
	}
	if name == "." {
		return d.root, nil
	}
	return d.root.Join(name)
}

// Open implements [fs.FS].
func (d *dirFS) Open(name string) (fs.File, error) {
	return below(d, "open", name, func(path protocol.PathURI) (fs.File, error) {
		info, err := d.named(path, name)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return &dirFile{name: name, info: info, list: func() ([]fs.DirEntry, error) { return d.list(path) }}, nil
		}
		file, err := d.open(path, info)
		if err != nil {
			return nil, err
		}
		return file, nil
	})
}

// Stat implements [fs.StatFS].
func (d *dirFS) Stat(name string) (fs.FileInfo, error) {
	return below(d, "stat", name, func(path protocol.PathURI) (fs.FileInfo, error) { return d.named(path, name) })
}

// named is stat, where the root is called a dot.
func (d *dirFS) named(path protocol.PathURI, name string) (*FileInfo, error) {
	info, err := d.stat(path)
	if err == nil && name == "." {
		info.name = name
	}
	return info, err
}

// ReadFile implements [fs.ReadFileFS].
func (d *dirFS) ReadFile(name string) ([]byte, error) { return below(d, "read", name, d.read) }

// ReadDir implements [fs.ReadDirFS].
func (d *dirFS) ReadDir(name string) ([]fs.DirEntry, error) { return below(d, "readdir", name, d.list) }

// Sub implements [fs.SubFS].
func (d *dirFS) Sub(dir string) (fs.FS, error) {
	return below(d, "sub", dir, func(path protocol.PathURI) (fs.FS, error) {
		sub := *d
		sub.root = path
		return &sub, nil
	})
}

// dirFile implements [fs.ReadDirFile].
type dirFile struct {
	name    string
	info    *FileInfo
	list    func() ([]fs.DirEntry, error)
	entries []fs.DirEntry // what is left
	listed  bool
	closed  bool
}

func (d *dirFile) Stat() (fs.FileInfo, error) {
	if d.closed {
		return nil, d.fail("stat", fs.ErrClosed)
	}
	return d.info, nil
}

func (d *dirFile) Read([]byte) (int, error) { return 0, d.fail("read", errIsDirectory) }

var errIsDirectory = errors.New("it is a directory")

func (d *dirFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.closed {
		return nil, d.fail("readdir", fs.ErrClosed)
	}
	if !d.listed {
		entries, err := d.list()
		if err != nil {
			return nil, err
		}
		d.entries, d.listed = entries, true
	}
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	taken := d.entries[:n:n]
	d.entries = d.entries[n:]
	return taken, nil
}

func (d *dirFile) Close() error {
	if d.closed {
		return d.fail("close", fs.ErrClosed)
	}
	d.closed = true
	return nil
}

func (d *dirFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: d.name, Err: err}
}
