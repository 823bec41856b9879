package helper

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// channel is the helper's end of a control socket; see [plan.ControlFD].
type channel int

// errClosed means that nobody is there at the other end any more.
var errClosed = errors.New("the control socket is closed")

// maxFiles is more descriptors than come with any message.
const maxFiles = 253

// receive waits for a message. The caller owns the descriptors.
func (c channel) receive() (m plan.Message, files []int, err error) {
	b := make([]byte, plan.MaxMessage)
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	var n, oobn, flags int
	for {
		n, oobn, flags, _, err = unix.Recvmsg(int(c), b, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, nil, os.NewSyscallError("recvmsg", err)
	}
	parts, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, nil, err
	}
	for i := range parts {
		fds, err := unix.ParseUnixRights(&parts[i])
		if err != nil {
			closeAll(files)
			return nil, nil, err
		}
		files = append(files, fds...)
	}
	switch {
	case n == 0:
		err = errClosed
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("a message is cut off")
	default:
		m, err = plan.DecodeMessage(b[:n])
	}
	if err != nil {
		closeAll(files)
		return nil, nil, err
	}
	return m, files, nil
}

// send sends a message. Only sendmsg is used, which no filter denies.
func (c channel) send(m plan.Message, files ...int) error { return c.sendWith(0, m, files) }

// offer sends a message if there is room for it.
func (c channel) offer(m plan.Message) bool { return c.sendWith(unix.MSG_DONTWAIT, m, nil) == nil }

func (c channel) sendWith(flags int, m plan.Message, files []int) error {
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	for {
		err := unix.Sendmsg(int(c), plan.AppendMessage(nil, m), oob, nil, flags|unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

func closeAll(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}

// failure is an answer that is an error.
type failure struct{ plan.Answer }

func (f *failure) Error() string { return f.Step.String() + ": " + f.Detail + ": " + f.Errno.Error() }

// failed returns what has failed, and for what: a path above all.
func failed(step plan.Step, detail string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{plan.Answer{Step: step, Errno: errnoOf(err), Detail: detail}}
}

// errnoOf returns the system's error, or EINVAL if it is none of the system's.
func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return unix.EINVAL
}
