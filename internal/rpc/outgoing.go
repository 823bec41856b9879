package rpc

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spare"
	"github.com/airlock-exec/airlock/internal/transport"
)

// outgoing is the queue of messages to be written, bounded in bytes. Messages
// are written in the order in which they were added, as many at once as have
// gathered while the previous ones were being written.
//
// Little that finds nobody writing is written by whoever adds or flushes it, if
// that one has nothing else to do: to wake another goroutine for it would cost
// more than the write.
type outgoing struct {
	transport transport.Conn
	limit     int
	began     func() // called when a write begins
	large     spare.Buffers

	mu      sync.Mutex
	work    sync.Cond // queue, writing, ending or err changed
	queue   [][]byte
	bytes   int             // in the queue and being written
	waiting []chan struct{} // those that wait for room, first come first served
	writing bool            // somebody is in transport.Write
	ending  bool
	why     error // with which it ends
	err     error // why nothing can be sent any more

	spare [][]byte // the memory of the batch before
}

func newOutgoing(t transport.Conn) *outgoing {
	o := &outgoing{transport: t, limit: limits.OutgoingBytes, began: func() {}}
	o.work.L = &o.mu
	return o
}

// buffers holds the memory of messages that have been written, but for the
// large ones.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	// pooledBytes is the largest buffer that all connections share: a chunk of
	// output in base64.
	pooledBytes = 2 * limits.ChunkBytes
	// directBytes is up to how much whoever adds writes. More is worth the work
	// of two goroutines.
	directBytes = 16 << 10
)

// buffer returns an empty buffer for a message, which is going to be added.
func (o *outgoing) buffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

// largeBuffer is buffer for a message that is large, in all likelihood.
func (o *outgoing) largeBuffer() []byte {
	if buffer := o.large.Take(); buffer != nil {
		return buffer
	}
	return o.buffer()
}

// recycle keeps the memory of a message for another one.
func (o *outgoing) recycle(message []byte) {
	if cap(message) <= pooledBytes {
		buffers.Put(&message)
	} else {
		o.large.Keep(message)
	}
}

// urgency is when a message that is added is written.
type urgency int

const (
	later urgency = iota // at the next flush, or when much has gathered
	soon                 // by somebody else, with what else has been added until then
	now                  // at once, by whoever adds it if it is little
)

// add queues a message, once the queue is below its bound and those that came
// before have had their turn. The message's memory is the queue's from now on. An
// error means that the connection is over, or ctx. A message that is larger than a
// frame has been written when add returns: whoever made it goes on counting it as
// his until then.
func (o *outgoing) add(ctx context.Context, message []byte, when urgency) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) > 0 || o.bytes >= o.limit {
		o.waitForRoom(ctx)
	}
	if err := cmp.Or(o.err, context.Cause(ctx)); err != nil {
		o.recycle(message)
		return err
	}
	o.queue = append(o.queue, message)
	o.bytes += len(message)
	o.letIn()
	switch {
	case when == soon:
		o.work.Signal()
	case when == now || o.bytes > directBytes:
		o.flushLocked()
	}
	if len(message) > limits.FrameBytes {
		o.waitForRoom(ctx)
		o.letIn() // it does not use it
	}
	return o.err
}

// waitForRoom waits in line. The caller holds the lock, which is let go
// meanwhile.
func (o *outgoing) waitForRoom(ctx context.Context) {
	turn := make(chan struct{})
	o.waiting = append(o.waiting, turn)
	o.letIn()
	o.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
	}
	o.mu.Lock()
	if i := slices.Index(o.waiting, turn); i >= 0 {
		o.waiting = slices.Delete(o.waiting, i, i+1)
	}
	if ctx.Err() != nil {
		o.letIn() // the turn may have been this one's
	}
}

// letIn lets the first in line add its message, if there is room. The caller
// holds the lock.
func (o *outgoing) letIn() {
	if len(o.waiting) > 0 && (o.err != nil || o.bytes < o.limit) {
		close(o.waiting[0])
		o.waiting = slices.Delete(o.waiting, 0, 1)
	}
}

// flush has everything written that has been added.
func (o *outgoing) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushLocked()
}

func (o *outgoing) flushLocked() {
	switch {
	case o.writing || len(o.queue) == 0 || o.err != nil:
		// Who writes sees to the rest, or there is none.
	case o.bytes <= directBytes:
		o.writeQueue()
	default:
		o.work.Signal()
	}
}

// writeQueue writes all that is queued, while nobody else writes. The caller
// holds the lock, which is let go meanwhile.
func (o *outgoing) writeQueue() {
	batch := o.queue
	o.queue = o.spare[:0]
	o.writing = true
	o.mu.Unlock()
	o.began()
	err := o.transport.Write(batch)
	written := 0
	for i, message := range batch {
		written += len(message)
		o.recycle(message)
		batch[i] = nil
	}
	o.mu.Lock()
	o.spare = batch
	o.writing = false
	o.bytes -= written
	if err != nil {
		o.failLocked(err)
	}
	o.letIn()
	if len(o.queue) > 0 || o.ending {
		o.work.Signal()
	}
}

// busy tells whether there is something that has not been written.
func (o *outgoing) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes > 0 && o.err == nil
}

// run writes what is queued until that is finished or the transport fails, and
// returns why it ended.
func (o *outgoing) run() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for o.err == nil && (o.writing || len(o.queue) == 0 && !o.ending) {
			o.work.Wait()
		}
		if o.err != nil {
			return o.err
		}
		if len(o.queue) == 0 { // all is written, and there is no more
			o.failLocked(o.why)
			return o.err
		}
		o.writeQueue()
	}
}

// finish lets run end once everything queued has been written.
func (o *outgoing) finish(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.why = why
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
	for len(o.waiting) > 0 {
		o.letIn()
	}
	o.work.Signal()
}
