package fetch

import (
	"sync"
	"sync/atomic"
)

// budget bounds what all connections take together.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take takes a share, if there is one left.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.give(n)
	return false
}

// give gives a share back.
func (b *budget) give(n int64) { b.used.Add(-n) }

// buffers lends a few large buffers. Those that nobody needs the runtime frees.
type buffers struct {
	lent budget
	size int
	pool sync.Pool // of *[]byte
}

// take lends a buffer, or nil if all are lent.
func (b *buffers) take() *[]byte {
	if !b.lent.take(1) {
		return nil
	}
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	buf := make([]byte, b.size)
	return &buf
}

// give takes a buffer back.
func (b *buffers) give(buf *[]byte) {
	b.pool.Put(buf)
	b.lent.give(1)
}
