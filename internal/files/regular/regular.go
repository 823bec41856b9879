// Package regular reads regular files, and waits for nothing but the disk: neither
// for the other end of a pipe, nor for a device, nor for what the kernel has yet to
// write into a file that it makes up.
package regular

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Why a file is not read, besides what the system says.
var (
	ErrNotRegular = errors.New("is not a file")
	ErrTooLarge   = errors.New("is too large")
)

// Open opens a file at a path that somebody names. Symbolic links are followed.
// What is no regular file is not even opened, as a device may take that for an
// order.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return open(path, true) // which may be something else by now
}

// OpenListed opens a file that has just been listed as a regular one. If it is a
// symbolic link by now, that is not followed.
func OpenListed(path string) (*File, error) { return open(path, false) }

// ReadAll reads the whole file. The error of one of more than limit bytes is
// ErrTooLarge.
func (f *File) ReadAll(limit int) ([]byte, error) {
	var data []byte
	for {
		data = slices.Grow(data, min(max(4<<10, len(data)), limit+1))
		n, err := f.ReadAt(data[len(data):cap(data)], int64(len(data)))
		data = data[:len(data)+n]
		switch {
		case len(data) > limit:
			return nil, ErrTooLarge
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
