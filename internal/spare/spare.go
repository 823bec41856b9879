// Package spare keeps large buffers from one message to the next. To touch
// megabytes of fresh memory takes longer than to fill them with what is sent.
package spare

import (
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Buffers are the large buffers of one connection and direction that are not in
// use: up to limits.SpareBuffers of them, none of more than
// limits.SpareBufferBytes. They are let go when none has been of much use for
// limits.SpareTimeout, and by Close. The zero Buffers is ready for use, by
// several goroutines at the same time.
type Buffers struct {
	mu      sync.Mutex
	kept    [][]byte // smallest first
	release *time.Timer
	waiting bool // release is going to run
	closed  bool
}

// Take returns an empty buffer, the largest there is, or nil. It is the caller's.
func (b *Buffers) Take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.kept) - 1
	if last < 0 {
		return nil
	}
	buffer := b.kept[last]
	b.kept[last] = nil
	b.kept = b.kept[:last]
	return buffer[:0]
}

// TakeSized returns so many bytes, whatever they are: those of a buffer that is
// hardly larger, or new ones. They are the caller's.
func (b *Buffers) TakeSized(size int) []byte {
	buffer := b.Take()
	if size <= cap(buffer) && cap(buffer) <= 2*size {
		return buffer[:size]
	}
	if buffer != nil {
		b.Keep(buffer)
	}
	return make([]byte, size)
}

// Keep takes over a buffer that is not used any more, with what it was used for.
// The smallest one is dropped if there are too many, and so is one that is too
// large.
func (b *Buffers) Keep(buffer []byte) {
	if cap(buffer) > limits.SpareBufferBytes {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.insert(buffer)
	switch {
	case b.release == nil:
		b.release = time.AfterFunc(limits.SpareTimeout, b.letGo)
	case !b.waiting || len(buffer) >= cap(buffer)/2:
		b.release.Reset(limits.SpareTimeout)
	}
	b.waiting = true
}

// insert puts a buffer where it belongs by its size, and drops the smallest one
// if there are too many. The caller holds the lock.
func (b *Buffers) insert(buffer []byte) {
	at := len(b.kept)
	for at > 0 && cap(b.kept[at-1]) > cap(buffer) {
		at--
	}
	b.kept = append(b.kept, nil)
	copy(b.kept[at+1:], b.kept[at:])
	b.kept[at] = buffer
	if len(b.kept) > limits.SpareBuffers {
		b.kept[0] = nil
		b.kept = b.kept[1:]
	}
}

func (b *Buffers) letGo() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = nil
	b.waiting = false
}

// Close lets all of them go, and none is kept any more.
func (b *Buffers) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.kept = nil
	if b.release != nil {
		b.release.Stop()
	}
}
