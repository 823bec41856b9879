package rpc

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// outgoing is the queue of messages to be written, bounded in bytes. Messages
// are written in the order in which they were added, as many at once as have
// gathered while the previous ones were being written.
//
// A small message that finds nothing queued or being written is written by
// whoever adds it: to wake another goroutine for it would cost more than the
// write.
type outgoing struct {
	transport transport.Conn
	limit     int

	mu      sync.Mutex
	room    sync.Cond // bytes or err changed
	work    sync.Cond // queue, writing, ending or err changed
	queue   [][]byte
	bytes   int  // in the queue and being written
	writing bool // somebody is in transport.Write
	ending  bool
	err     error // why nothing can be sent any more

	single [1][]byte // the batch of whoever writes a message of its own
}

func newOutgoing(t transport.Conn) *outgoing {
	o := &outgoing{transport: t, limit: limits.OutgoingBytes}
	o.room.L, o.work.L = &o.mu, &o.mu
	return o
}

// buffers holds the memory of messages that have been written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	// pooledBytes is the largest buffer worth keeping: a chunk of output in base64.
	pooledBytes = 2 * limits.ChunkBytes
	// directBytes is up to which size whoever adds a message writes it. Larger
	// ones are worth the work of two goroutines.
	directBytes = 16 << 10
)

// add queues or writes the message that build appends to an empty buffer, once
// there is room. A message larger than the bound waits for an empty queue. An
// error means that the connection is over.
func (o *outgoing) add(build func(dst []byte) []byte) error {
	buffer := buffers.Get().(*[]byte)
	message := build((*buffer)[:0])

	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.bytes > 0 && o.bytes+len(message) > o.limit {
		o.room.Wait()
	}
	if o.err != nil {
		recycle(message)
		return o.err
	}
	if len(message) <= directBytes && !o.writing && len(o.queue) == 0 {
		o.single[0] = message
		o.bytes += len(message)
		o.write(o.single[:])
		return o.err
	}
	o.queue = append(o.queue, message)
	o.bytes += len(message)
	o.work.Signal()
	return nil
}

// write writes a batch, whose bytes have been counted, while nobody else does.
// The caller holds the lock, which is let go meanwhile.
func (o *outgoing) write(batch [][]byte) {
	o.writing = true
	o.mu.Unlock()
	err := o.transport.Write(batch)
	written := 0
	for i, message := range batch {
		written += len(message)
		recycle(message)
		batch[i] = nil
	}
	o.mu.Lock()
	o.writing = false
	o.bytes -= written
	if err != nil {
		o.failLocked(err)
	}
	o.room.Broadcast()
	if len(o.queue) > 0 || o.ending {
		o.work.Signal()
	}
}

func recycle(message []byte) {
	if cap(message) <= pooledBytes {
		buffers.Put(&message)
	}
}

// run writes what is queued until that is finished or the transport fails.
func (o *outgoing) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	var batch [][]byte
	for {
		for o.err == nil && (o.writing || len(o.queue) == 0 && !o.ending) {
			o.work.Wait()
		}
		if o.err != nil {
			return
		}
		if len(o.queue) == 0 {
			o.failLocked(transport.ErrClosed) // all is written, and there is no more
			return
		}
		batch, o.queue = o.queue, batch[:0]
		o.write(batch)
	}
}

// finish lets run end once everything queued has been written.
func (o *outgoing) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.work.Signal()
}

// fail ends the queue at once; the first reason is kept.
func (o *outgoing) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *outgoing) failLocked(err error) {
	if o.err == nil {
		o.err = err
		o.queue = nil
	}
	o.room.Broadcast()
	o.work.Signal()
}
