//go:build !unix

package search

import (
	"io"
	"os"
)

// file is a regular file.
type file struct{ f *os.File }

// openFile opens a regular file. The error of anything else is errNotRegular.
func openFile(path string, follow bool) (*file, error) {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

// openDir opens a directory.
func openDir(path string, _ bool) (*os.File, error) { return os.Open(path) }

// readAt reads like an [io.ReaderAt], but may return fewer bytes than there are.
func (f *file) readAt(p []byte, offset int64) (int, error) {
	n, err := f.f.ReadAt(p, offset)
	if err == io.EOF && n > 0 {
		return n, nil // the end is seen when there is nothing more
	}
	return n, err
}

func (f *file) close() { _ = f.f.Close() }
