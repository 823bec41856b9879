//go:build unix

package regular

import (
	"io"

	"golang.org/x/sys/unix"
)

// File is an open regular file. It is none of package os, which would wait for a
// file of the kernel that has no data yet. One goroutine may use it at a time.
type File struct {
	fd   int
	size int64 // when it was opened; of files that the kernel makes up, 0
}

func open(path string, follow bool) (*File, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := retry(func() (int, error) { return unix.Open(path, flags, 0) })
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &File{fd: fd, size: stat.Size}, nil
}

// ReadAt reads like an [io.ReaderAt], but may return fewer bytes than there are.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := retry(func() (int, error) { return unix.Pread(f.fd, p, offset) })
	switch {
	case err != nil:
		return 0, err
	case n == 0, n < len(p) && f.size > 0 && offset+int64(n) >= f.size:
		return n, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (f *File) Close() { _ = unix.Close(f.fd) }

// retry repeats what a signal has interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
