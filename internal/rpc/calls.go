package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// ErrTooManyCalls means that as many calls as may be under way are waiting for
// their answers already.
var ErrTooManyCalls = errors.New("too many calls in flight on this connection")

// ErrBadAnswer means that the peer has answered what can't be taken in: it holds
// more than a message may, say.
var ErrBadAnswer = errors.New("the answer can't be taken in")

// calls are our requests that the peer has not answered yet.
type calls struct {
	most int // in flight

	mu      sync.Mutex
	last    int64
	pending map[int64]chan<- Message
	// late are the ids of calls that were given up, oldest first in order, so
	// that an answer to one of them is told from an answer to nothing.
	late   map[int64]bool
	order  []int64
	closed error
}

func newCalls(most int) *calls {
	return &calls{most: most, pending: map[int64]chan<- Message{}, late: map[int64]bool{}}
}

// begin makes an id for a new call and the channel that its answer comes on.
func (c *calls) begin() (int64, <-chan Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return 0, nil, c.closed
	}
	if len(c.pending) >= c.most {
		return 0, nil, ErrTooManyCalls
	}
	c.last++
	answer := make(chan Message, 1)
	c.pending[c.last] = answer
	return c.last, answer, nil
}

// giveUp forgets a call, but remembers that there was one.
func (c *calls) giveUp(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waiting := c.pending[id]; !waiting {
		return
	}
	delete(c.pending, id)
	c.late[id] = true
	c.order = append(c.order, id)
	if len(c.order) > limits.LateCallIDs {
		delete(c.late, c.order[0])
		c.order = c.order[1:]
	}
}

// answer hands a response to its call. It reports false for an answer to
// nothing.
func (c *calls) answer(m Message) bool {
	id, ok := m.ID.number()
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.pending[id]; ok {
		delete(c.pending, id)
		waiting <- m // has room for the one answer
		return true
	}
	if c.late[id] {
		delete(c.late, id)
		return true
	}
	return false
}

// refuse lets the call fail whose answer is not a message. It reports false if
// there is none.
func (c *calls) refuse(data []byte, fault error) bool {
	id, ok := answerID(data)
	return ok && c.answer(Message{ID: id, fault: fault})
}

// close makes every call that waits, and every later one, fail with err.
func (c *calls) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return
	}
	c.closed = err
	for id, waiting := range c.pending {
		close(waiting)
		delete(c.pending, id)
	}
}

// Call sends a request to the peer and returns the result of its answer. An
// error that the peer answered is a [*protocol.Error]. When ctx ends first the
// call fails with its cause, and a late answer is ignored. A call fails with
// [ErrTooManyCalls] when too many are in flight, and with [ErrBadAnswer] when its
// answer is no message within the bounds.
func (c *Conn) Call(ctx context.Context, method string, params any) (jsontext.Value, error) {
	encoded, err := protocol.Encode(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters of %s: %w", method, err)
	}
	id, answer, err := c.calls.begin()
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	defer c.calls.giveUp(id)
	// A write of ours would not end with ctx.
	err = c.out.add(ctx, appendRequest(c.out.buffer(), numberID(id), method, encoded), soon)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, fmt.Errorf("calling %s: %w", method, c.calls.closed)
		case m.fault != nil:
			return nil, fmt.Errorf("calling %s: %w: %w", method, ErrBadAnswer, m.fault)
		case m.Error != nil:
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("calling %s: %w", method, context.Cause(ctx))
	}
}
