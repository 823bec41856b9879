//go:build unix

package sandbox

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReadFile opens what has the path without waiting and without following a link,
// and judges it when it is open.
func (system) ReadFile(path string, most int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

// openDirectory opens a directory without waiting and without following a link.
func openDirectory(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
