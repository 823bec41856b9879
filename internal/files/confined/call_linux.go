package confined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// errNotBegun means that a worker has ended before it has begun with an operation:
// another one may do it.
var errNotBegun = errors.New("the worker has ended")

// errMoved means that what a plan is about has been moved while a worker was made.
var errMoved = errors.New("what the policy is about is being moved about: try again")

// call is an operation that a worker has been asked for.
type call struct {
	*socket
	begun bool // the worker has said so
}

// newCall sends a worker one end of a connection.
func newCall(control *socket) (*call, error) {
	ours, theirs, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer unix.Close(theirs)
	if err := control.pass(theirs); err != nil {
		ours.Close()
		return nil, errNotBegun
	}
	return &call{socket: ours}, nil
}

// do asks for an operation and waits for what it comes to, which it appends if it is
// a result.
func (c *call) do(ctx context.Context, dst, request []byte) (_ []byte, file *os.File, err error) {
	interrupted := make(chan struct{})
	stay := context.AfterFunc(ctx, func() { c.interrupt(); close(interrupted) })
	defer func() {
		if !stay() {
			<-interrupted
		}
	}()
	begin, k := len(dst), kind(0)
	if err = c.writeFrame(requestFrame, request, -1); err == nil {
		k, dst, err = c.readFrame(dst)
	}
	if err == nil && k == begunFrame {
		c.begun = true
		k, dst, err = c.readFrame(dst)
	}
	payload := dst[begin:]
	switch {
	case ctx.Err() != nil:
		return dst[:begin], nil, context.Cause(ctx)
	case err != nil && !c.begun:
		return dst[:begin], nil, errNotBegun
	case err != nil:
		return dst[:begin], nil, err
	case k == errorFrame:
		failure, err := protocol.Decode[protocol.Error](payload)
		if err != nil {
			return dst[:begin], nil, errMessage(err)
		}
		return dst[:begin], nil, &failure
	case k == resultFrame:
		if result := jsontext.Value(payload); !result.IsValid() || result.Kind() != '{' {
			return dst[:begin], nil, errMessage(errors.New("the result is no JSON object"))
		}
		return dst, nil, nil
	case k == fileFrame:
		fd, ok := c.take()
		if !ok {
			return dst[:begin], nil, protocol.Errorf(protocol.CodeInternal, "fs sandbox helper did not transfer its opened file descriptor")
		}
		return dst[:begin], os.NewFile(uintptr(fd), "confined"), nil
	}
	return dst[:begin], nil, errMessage(fmt.Errorf("a frame of kind %d is no answer", k))
}

// abandon gives up an operation, and waits until the worker has done so, too. It
// reports false if that takes too long.
func (c *call) abandon(patience time.Duration) bool {
	_ = c.file.SetReadDeadline(time.Now().Add(patience))
	if raw, err := c.file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	_, err := io.Copy(io.Discard, c.socket)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// errMessage answers for a worker that can't be understood.
func errMessage(err error) error {
	return protocol.Errorf(protocol.CodeInternal, "failed to encode or decode fs sandbox helper message: %v", err)
}
