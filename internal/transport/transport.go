// Package transport moves whole messages between two peers: over a WebSocket,
// over standard input and output, or inside the process. It knows what a
// message is on each of them, who may connect and when a peer is gone; it does
// not look into messages.
package transport

import "errors"

// Conn is one connection to a peer.
//
// Read and Write may run at the same time, but each is called by one goroutine
// at a time. Close may be called by anyone, more than once.
type Conn interface {
	// Read returns the next message, which stays valid until the next Read.
	//
	// It returns io.EOF only when the peer has stopped sending but still reads
	// what is written (standard input was closed); any other error means that
	// the connection is gone both ways.
	Read() ([]byte, error)

	// Write sends a batch of messages, in order. It returns when the operating
	// system has taken all of them, and does not keep the slices.
	Write(batch [][]byte) error

	// Close ends the connection at once and makes Read and Write return. Where
	// the transport can say so, the peer is told the reason first.
	Close(reason error)

	// Progress returns a number that grows as the peer takes what is written.
	// It tells nothing but whether that goes on at all; how finely depends on
	// what the operating system tells.
	Progress() uint64

	// Probe finds out whether the peer is still there: one that is not heard of
	// within limits.ProbeTimeout is dropped. Where the end of a peer can't go
	// unnoticed it does nothing.
	Probe()

	// Done is closed when the connection has ended, by Close or because the
	// transport has found the peer to be gone.
	Done() <-chan struct{}

	// Origin names the kind of connection and the peer as error texts show it,
	// such as "websocket JSON-RPC message from exec-server websocket
	// 127.0.0.1:4242" or "JSON-RPC message from exec-server stdio".
	Origin() string
}

// Reasons for a connection's end.
var (
	// ErrClosed: this side has closed the connection, or the peer has.
	ErrClosed = errors.New("connection closed")
	// ErrMessageTooBig: the peer sent a message above limits.MessageBytes.
	ErrMessageTooBig = errors.New("message too big")
	// ErrInvalidUTF8: the peer sent text that is not UTF-8.
	ErrInvalidUTF8 = errors.New("text message is not valid UTF-8")
	// ErrViolation: the peer has sent what the layer above does not allow.
	ErrViolation = errors.New("protocol violation")
	// ErrGoingAway: this side shuts down.
	ErrGoingAway = errors.New("going away")
	// ErrTakenOver: another connection has taken what this one was for.
	ErrTakenOver = errors.New("taken over by another connection")
	// ErrEnded: whoever runs the other side has ended what this one was for.
	ErrEnded = errors.New("ended by the operator")
	// ErrPingTimeout: the peer has not been heard of for too long.
	ErrPingTimeout = errors.New("peer does not answer pings")
)
