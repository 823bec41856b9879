//go:build !unix

package regular

import (
	"io"
	"os"
)

// File is an open regular file. One goroutine may use it at a time.
type File struct{ file *os.File }

func open(path string, follow bool) (*File, error) {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{file}, nil
}

// ReadAt reads like an [io.ReaderAt], but may return fewer bytes than there are.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.file.ReadAt(p, offset)
	if err == io.EOF && n > 0 {
		return n, nil // the end is seen when there is nothing more
	}
	return n, err
}

// Close closes the file.
func (f *File) Close() { _ = f.file.Close() }
