package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// control is our end of the control socket of a helper. One goroutine at a time
// reads; the rest may be called by others.
type control struct {
	file *os.File
	conn syscall.RawConn
}

// newControl returns our end, and the helper's as a descriptor that may be passed on
// in a fork.
func newControl() (*control, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	theirs, err := helper.Raise(fds[1])
	if err != nil {
		unix.Close(fds[0])
		return nil, -1, err
	}
	file, err := pollable(fds[0], "control")
	if err != nil {
		unix.Close(theirs)
		return nil, -1, err
	}
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		unix.Close(theirs)
		return nil, -1, err
	}
	return &control{file: file, conn: conn}, theirs, nil
}

// send sends a message with descriptors. The socket has room for what is sent
// through it in all, but for many signals that the helper does not take; it fails
// rather than wait for that.
func (c *control) send(m plan.Message, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	b := plan.AppendMessage(nil, m)
	var sent error
	err := c.conn.Write(func(fd uintptr) bool {
		for {
			sent = unix.Sendmsg(int(fd), b, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			if sent != unix.EINTR {
				return true
			}
		}
	})
	return errors.Join(err, os.NewSyscallError("sendmsg", sent))
}

// errLost is for descriptors that could not be taken.
var errLost = errors.New("descriptors were lost: this program has no room for more open files")

// receive waits for the next message. It returns io.EOF when the helper has closed
// its end, or is dead. The descriptors are the caller's.
func (c *control) receive(buffer []byte) (plan.Message, []int, error) {
	oob := make([]byte, unix.CmsgSpace(4*plan.MaxListeners))
	var n, oobn, flags int
	var received error
	err := c.conn.Read(func(fd uintptr) bool {
		for {
			n, oobn, flags, _, received = unix.Recvmsg(int(fd), buffer, oob, unix.MSG_CMSG_CLOEXEC)
			// It is told once of a helper that has died with something unread; what it
			// has said comes after that.
			if received != unix.EINTR && received != unix.ECONNRESET {
				return received != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, received); err != nil {
		return nil, nil, err
	}
	fds := rights(oob[:oobn])
	switch m, err := plan.DecodeMessage(buffer[:n]); {
	case n == 0:
		closeAll(fds)
		return nil, nil, io.EOF
	case flags&unix.MSG_CTRUNC != 0:
		closeAll(fds)
		return nil, nil, errLost
	case err != nil:
		closeAll(fds)
		return nil, nil, fmt.Errorf("the helper says what can't be understood: %w", err)
	default:
		return m, fds, nil
	}
}

// rights returns the descriptors of a control message.
func rights(oob []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if some, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// lastWords bounds how long is waited for what a dead helper has said, should
// somebody else have its end of the socket.
const lastWords = time.Second

// hurry bounds how long receive goes on.
func (c *control) hurry() { _ = c.file.SetReadDeadline(time.Now().Add(lastWords)) }

// interrupt makes receive fail.
func (c *control) interrupt() { _ = c.file.SetReadDeadline(time.Unix(1, 0)) }

func (c *control) close() { c.file.Close() }
