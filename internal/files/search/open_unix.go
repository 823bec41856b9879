//go:build unix

package search

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// file is a regular file. It is none of package os, which would wait for a file
// of the kernel that has no data yet.
type file struct {
	fd   int
	size int64 // when it was opened; of files that the kernel makes up, 0
}

// openFile opens a regular file, without waiting for anything. The error of
// anything else is errNotRegular.
func openFile(path string, follow bool) (*file, error) {
	fd, err := open(path, unix.O_NONBLOCK|unix.O_NOCTTY, follow)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &file{fd: fd, size: stat.Size}, nil
}

// openDir opens a directory.
func openDir(path string, follow bool) (*os.File, error) {
	fd, err := open(path, unix.O_DIRECTORY, follow)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func open(path string, flags int, follow bool) (int, error) {
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
}

// ReadAt reads like an [io.ReaderAt], but may return fewer bytes than there are.
func (f *file) readAt(p []byte, offset int64) (int, error) {
	n, err := retry(func() (int, error) { return unix.Pread(f.fd, p, offset) })
	switch {
	case err != nil:
		return 0, err
	case n == 0, n < len(p) && f.size > 0 && offset+int64(n) >= f.size:
		return n, io.EOF
	}
	return n, nil
}

func (f *file) close() { _ = unix.Close(f.fd) }

// retry repeats what a signal has interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
