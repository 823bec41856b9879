package transport

import (
	"bytes"
	"cmp"
	"errors"
	"sync"
)

// pairBytes is how much one side of a pair may write ahead of the other's
// reads. One message always fits, however large.
const pairBytes = 64 << 10

// messageCost is added to a message's length, so that empty ones are bounded too.
const messageCost = 64

// Pair returns two connections inside the process, each the peer of the other.
//
// What was written before one side closed can still be read by the other.
func Pair() (a, b Conn) {
	ab, ba := newQueue(), newQueue()
	return newPairConn(ba, ab), newPairConn(ab, ba)
}

type pairConn struct {
	in, out *queue
	closing sync.Once
	done    chan struct{} // closed by Close
}

func newPairConn(in, out *queue) *pairConn {
	return &pairConn{in: in, out: out, done: make(chan struct{})}
}

func (c *pairConn) Read() ([]byte, error) { return c.in.get() }

func (c *pairConn) Write(batch [][]byte) error {
	for _, message := range batch {
		if err := c.out.put(message); err != nil {
			return err
		}
	}
	return nil
}

// Close ends both directions. What this side has not yet read is dropped. Of the
// reasons, the other side is told ErrTakenOver and ErrEnded only.
func (c *pairConn) Close(reason error) {
	c.closing.Do(func() {
		why := ErrClosed
		switch {
		case errors.Is(reason, ErrTakenOver):
			why = ErrTakenOver
		case errors.Is(reason, ErrEnded):
			why = ErrEnded
		}
		c.out.close(false, why)
		c.in.close(true, ErrClosed)
		close(c.done)
	})
}

// Progress implements [Conn].
func (c *pairConn) Progress() uint64 {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.taken
}

// Probe implements [Conn].
func (*pairConn) Probe() {}

// Done is closed by Close only: what the peer wrote before it closed is still to
// be read.
func (c *pairConn) Done() <-chan struct{} { return c.done }

func (c *pairConn) Origin() string { return "JSON-RPC message from exec-server in process" }

// queue carries the messages of one direction.
type queue struct {
	mu       sync.Mutex
	changed  sync.Cond // signalled on every change; at most two wait
	messages [][]byte
	cost     int    // sum over messages of length and messageCost
	taken    uint64 // messages, in all
	closed   error  // why nothing more comes
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// put appends a copy of the message once there is room for it.
func (q *queue) put(message []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.closed == nil && len(q.messages) > 0 && q.cost+len(message)+messageCost > pairBytes {
		q.changed.Wait()
	}
	if q.closed != nil {
		return ErrClosed
	}
	q.messages = append(q.messages, bytes.Clone(message))
	q.cost += len(message) + messageCost
	q.changed.Broadcast()
	return nil
}

func (q *queue) get() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.closed == nil && len(q.messages) == 0 {
		q.changed.Wait()
	}
	if len(q.messages) == 0 {
		return nil, q.closed
	}
	message := q.messages[0]
	q.messages[0] = nil
	q.messages = q.messages[1:]
	q.cost -= len(message) + messageCost
	q.taken++
	q.changed.Broadcast()
	return message, nil
}

// close ends the direction; with drop set, what has not been read is lost. The
// first reason is kept.
func (q *queue) close(drop bool, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = cmp.Or(q.closed, why)
	if drop {
		q.messages, q.cost = nil, 0
	}
	q.changed.Broadcast()
}
