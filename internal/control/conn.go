package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Reason says why an executor ends a connection. More may be added.
type Reason string

// Reasons.
const (
	ReasonTakenOver  Reason = "takenOver"  // the session has been resumed by another connection
	ReasonEnded      Reason = "ended"      // whoever runs the executor has ended the session
	ReasonGoingAway  Reason = "goingAway"  // the executor shuts down
	ReasonTooMany    Reason = "tooMany"    // there are as many connections as there may be
	ReasonTooBig     Reason = "tooBig"     // a message was too big
	ReasonViolation  Reason = "violation"  // what was sent is not allowed, or not text
	reasonUnexpected Reason = "unexpected" // anything else that there is something to say about
)

// NotificationClosing is the last that an executor sends over a connection, if
// it is the one that ends it.
const NotificationClosing = "airlock/connectionClosing"

// ClosingError is what [NotificationClosing] tells.
type ClosingError struct {
	Reason Reason `json:"reason"`
	// Message is for people.
	Message string `json:"message"`
}

// Error returns the message.
func (c *ClosingError) Error() string { return c.Message }

// Unwrap returns the error of package transport that means the same, or nil.
func (c *ClosingError) Unwrap() error {
	for _, known := range closings {
		if c.Reason == known.reason {
			return known.err
		}
	}
	return nil
}

var closings = []struct {
	err    error
	reason Reason
}{
	{transport.ErrTakenOver, ReasonTakenOver},
	{transport.ErrEnded, ReasonEnded},
	{transport.ErrGoingAway, ReasonGoingAway},
	{transport.ErrMessageTooBig, ReasonTooBig},
	{transport.ErrViolation, ReasonViolation},
	{transport.ErrInvalidUTF8, ReasonViolation},
}

// closingOf returns what to tell the peer about the end of its connection, or
// nil if there is nothing to tell: it has ended it itself.
func closingOf(err error) *ClosingError {
	if closing, ok := errors.AsType[*ClosingError](err); ok {
		return closing
	}
	for _, known := range closings {
		if errors.Is(err, known.err) {
			return &ClosingError{Reason: known.reason, Message: err.Error()}
		}
	}
	if err == nil || errors.Is(err, transport.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return &ClosingError{Reason: reasonUnexpected, Message: err.Error()}
}

// parseClosing returns what a message tells of the end of the connection, or nil
// if it is another message.
func parseClosing(message []byte) *ClosingError {
	rest, found := bytes.CutPrefix(message, []byte(`{"method":"`+NotificationClosing+`","params":`))
	if !found {
		return nil
	}
	if closing, err := protocol.Decode[ClosingError](bytes.TrimSuffix(rest, []byte("}"))); err == nil {
		return &closing
	}
	return nil
}

const origin = "JSON-RPC message from exec-server control socket"

// held is a socket that the connection above it does not close when something
// fails: there is something left to be said, or heard.
type held struct{ *net.UnixConn }

// Close does nothing.
func (held) Close() error { return nil }

// serverConn is an executor's end of a connection.
type serverConn struct {
	transport.Conn // lines over the socket
	socket         *net.UnixConn
	closing        sync.Once
	done           chan struct{} // closed by Close: whoever calls it first has the reason

	writing sync.Mutex // held during a write
	broken  bool       // a message may have been written in part
}

func newServerConn(socket *net.UnixConn) *serverConn {
	return &serverConn{
		Conn: transport.NewStdio(held{socket}, held{socket}), socket: socket, done: make(chan struct{}),
	}
}

// Origin implements [transport.Conn].
func (*serverConn) Origin() string { return origin }

// Done implements [transport.Conn].
func (c *serverConn) Done() <-chan struct{} { return c.done }

// Read implements [transport.Conn].
func (c *serverConn) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	if err != nil && err != io.EOF {
		c.Close(err)
	}
	return data, err
}

// Write implements [transport.Conn].
func (c *serverConn) Write(batch [][]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.Conn.Write(batch)
	c.broken = c.broken || err != nil
	return err
}

// Close implements [transport.Conn]. The peer is told the reason behind what is
// just being written; one that takes nothing is not waited for long.
func (c *serverConn) Close(reason error) {
	c.closing.Do(func() {
		_ = c.socket.SetWriteDeadline(time.Now().Add(limits.ControlGoodbyeTimeout))
		if closing := closingOf(reason); closing != nil {
			c.goodbye(closing)
		}
		c.Conn.Close(reason)
		_ = c.socket.Close()
		close(c.done)
	})
}

func (c *serverConn) goodbye(closing *ClosingError) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if !c.broken {
		_, _ = c.socket.Write(append(protocol.AppendNotification(nil, NotificationClosing, closing), '\n'))
		c.broken = true
	}
}

// clientConn is a client's end of a connection.
type clientConn struct {
	transport.Conn // lines over the socket
	socket         *net.UnixConn
	closing        sync.Once
}

func newClientConn(socket *net.UnixConn) *clientConn {
	c := &clientConn{socket: socket}
	c.Conn = transport.NewStdio(held{socket}, patient{held{socket}, c})
	return c
}

// Origin implements [transport.Conn].
func (*clientConn) Origin() string { return origin }

// Read implements [transport.Conn]. The end of what comes is the end of the
// executor, or of its patience.
func (c *clientConn) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	switch err {
	case nil:
		closing := parseClosing(data)
		if closing == nil {
			return data, nil
		}
		err = closing
	case io.EOF:
		err = fmt.Errorf("%w: the executor has ended, or has been killed", transport.ErrClosed)
	}
	c.Close(err)
	return nil, err
}

// Close implements [transport.Conn].
func (c *clientConn) Close(reason error) {
	c.closing.Do(func() {
		c.Conn.Close(reason)
		_ = c.socket.Close()
	})
}

// patient writes to the socket. If that fails it leaves some time to read why.
type patient struct {
	held
	conn *clientConn
}

// Write implements [io.Writer].
func (p patient) Write(data []byte) (int, error) {
	n, err := p.held.Write(data)
	if err != nil {
		select {
		case <-p.conn.Done():
		case <-time.After(limits.ControlGoodbyeTimeout):
		}
	}
	return n, err
}
