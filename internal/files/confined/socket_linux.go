package confined

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// socket is one end of a Unix connection. It does not ask the system anything about
// itself, as package net does: in a confinement that is denied.
type socket struct {
	file *os.File
	came []int // descriptors that have come, and have not been taken
}

// newSocket takes over a descriptor that does not block.
func newSocket(fd int) *socket { return &socket{file: os.NewFile(uintptr(fd), "socket")} }

// pair returns the ends of a connection, of which the second is a bare descriptor.
func pair(kind int) (ours *socket, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	return newSocket(fds[0]), fds[1], nil
}

// Close closes the socket, and what has come over it and nobody has taken.
func (s *socket) Close() {
	s.file.Close()
	for _, fd := range s.came {
		unix.Close(fd)
	}
	s.came = nil
}

// interrupt makes all that waits fail, now and later.
func (s *socket) interrupt() { _ = s.file.SetDeadline(time.Unix(1, 0)) }

// write writes all of b, and sends a descriptor along unless it is negative.
func (s *socket) write(b []byte, fd int) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	for len(b) > 0 {
		var n int
		var failed error
		err := raw.Write(func(fd uintptr) bool {
			for {
				n, failed = unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
				if failed != unix.EINTR {
					return failed != unix.EAGAIN
				}
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		b, rights = b[n:], nil
	}
	return nil
}

// pass sends a descriptor, unless it would have to wait for that.
func (s *socket) pass(fd int) error {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(to uintptr) bool {
		failed = unix.Sendmsg(int(to), []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		return true
	})
	return errors.Join(err, failed)
}

// Read reads at least one byte. Descriptors that come along are kept.
func (s *socket) Read(b []byte) (n int, err error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var rights [64]byte // for one descriptor and some more, which are not wanted
	var size int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, size, _, _, failed = unix.Recvmsg(int(fd), b, rights[:], unix.MSG_CMSG_CLOEXEC)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	s.keep(rights[:size])
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// keep keeps the descriptors in control messages.
func (s *socket) keep(control []byte) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			s.came = append(s.came, fds...)
		}
	}
}

// take returns the one descriptor that has come.
func (s *socket) take() (fd int, ok bool) {
	if len(s.came) != 1 {
		return -1, false
	}
	fd, s.came = s.came[0], nil
	return fd, true
}
