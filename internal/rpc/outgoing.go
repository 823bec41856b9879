package rpc

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// outgoing is the queue of messages to be written, bounded in bytes. Messages
// are written in the order in which they were added, as many at once as have
// gathered while the previous ones were being written.
type outgoing struct {
	limit int

	mu     sync.Mutex
	change sync.Cond // queue, bytes or an end changed
	queue  [][]byte
	bytes  int // in the queue and being written
	ending bool
	err    error // why nothing can be sent any more
}

func newOutgoing() *outgoing {
	o := &outgoing{limit: limits.OutgoingBytes}
	o.change.L = &o.mu
	return o
}

// buffers holds the memory of messages that have been written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// pooledBytes is the largest buffer worth keeping: a chunk of output in base64.
const pooledBytes = 2 * limits.ChunkBytes

// add queues the message that build appends to an empty buffer, once there is
// room. A message larger than the bound waits for an empty queue. An error
// means that the connection is over.
func (o *outgoing) add(build func(dst []byte) []byte) error {
	buffer := buffers.Get().(*[]byte)
	message := build((*buffer)[:0])

	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.bytes > 0 && o.bytes+len(message) > o.limit {
		o.change.Wait()
	}
	if o.err != nil {
		recycle(message)
		return o.err
	}
	o.queue = append(o.queue, message)
	o.bytes += len(message)
	o.change.Broadcast()
	return nil
}

// run writes messages until the queue is finished or the transport fails.
func (o *outgoing) run(t transport.Conn) {
	var batch [][]byte
	for {
		o.mu.Lock()
		for o.err == nil && len(o.queue) == 0 && !o.ending {
			o.change.Wait()
		}
		if o.err != nil || len(o.queue) == 0 {
			o.mu.Unlock()
			o.fail(transport.ErrClosed)
			return
		}
		batch, o.queue = o.queue, batch[:0]
		o.mu.Unlock()

		err := t.Write(batch)
		written := 0
		for i, message := range batch {
			written += len(message)
			recycle(message)
			batch[i] = nil
		}
		if err != nil {
			o.fail(err)
			return
		}
		o.mu.Lock()
		o.bytes -= written
		o.change.Broadcast()
		o.mu.Unlock()
	}
}

func recycle(message []byte) {
	if cap(message) <= pooledBytes {
		buffers.Put(&message)
	}
}

// finish lets run end once everything queued has been written.
func (o *outgoing) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.change.Broadcast()
}

// fail ends the queue at once; the first reason is kept.
func (o *outgoing) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		o.queue = nil
	}
	o.change.Broadcast()
}
