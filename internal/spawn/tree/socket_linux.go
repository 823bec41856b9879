package tree

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// socketMeans are no means to hold trees together, but what the records of sockets
// begin with.
const socketMeans Means = "socket"

// SocketRecord is the record of a Unix socket that the program listens at: [Sweep]
// removes it once nobody does. It is empty on systems that have no Sweep.
func SocketRecord(path string) string { return formatRecord(socketMeans, path) }

var errListening = errors.New("somebody listens there")

// sweepSocket removes a socket that nobody listens at any more. Whoever makes one
// holds the lock of the folder meanwhile, so that it is not a new one.
func sweepSocket(path string) error {
	folder, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	defer unix.Close(folder)
	if err := unix.Flock(folder, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &os.PathError{Op: "lock", Path: filepath.Dir(path), Err: err}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	switch err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err {
	case unix.ENOENT:
		return nil // it has been removed
	case unix.ECONNREFUSED:
		var s unix.Stat_t
		if err := unix.Lstat(path, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFSOCK {
			return errors.New("it is no socket of ours any more")
		}
		return os.Remove(path)
	case nil, unix.EAGAIN:
		return errListening
	default:
		return &os.PathError{Op: "connect", Path: path, Err: err}
	}
}
