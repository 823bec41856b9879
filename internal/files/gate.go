package files

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// gate bounds the bytes that large answers hold together. Who waits for room gets
// it in the order of arrival. The zero gate is ready.
type gate struct {
	most int64 // 0 means as many as package limits says

	mu      sync.Mutex // guards what follows
	held    int64
	waiting []*visitor
}

// visitor waits for room.
type visitor struct {
	bytes int64
	in    chan struct{} // closed when it has been let in
}

// enter takes room as soon as there is some. The error is that the context has
// ended first.
func (g *gate) enter(ctx context.Context, bytes int64) error {
	v := &visitor{bytes, make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, v)
	g.letIn()
	g.mu.Unlock()
	select {
	case <-v.in:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, v); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.held -= bytes // it has just been let in
	}
	g.letIn() // it may have been in the way
	return context.Cause(ctx)
}

// widen takes more room for one that is in, if there is some. It does not wait: it
// would be for others that may wait for the same.
func (g *gate) widen(bytes int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.hasRoom(bytes) {
		return false
	}
	g.held += bytes
	return true
}

// leave gives room back.
func (g *gate) leave(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held -= bytes
	g.letIn()
}

// letIn lets those in that have come first, as far as there is room. The caller
// holds the lock.
func (g *gate) letIn() {
	for len(g.waiting) > 0 && g.hasRoom(g.waiting[0].bytes) {
		g.held += g.waiting[0].bytes
		close(g.waiting[0].in)
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
}

func (g *gate) hasRoom(bytes int64) bool {
	return g.held+bytes <= cmp.Or(g.most, limits.LargeReadBytes)
}
