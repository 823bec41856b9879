package client

import (
	"context"
	"sync"
)

// news lets any number of goroutines wait for a change. It is guarded by the
// lock of what changes; the zero value is ready.
type news struct{ change chan struct{} }

// wait returns a channel that is closed at the next change.
func (n *news) wait() <-chan struct{} {
	if n.change == nil {
		n.change = make(chan struct{})
	}
	return n.change
}

// await waits for the next change, or ctx. The caller holds the lock, which is
// let go meanwhile.
func (n *news) await(ctx context.Context, mu *sync.Mutex) error {
	return n.awaitOr(ctx, mu, nil)
}

// awaitOr is await, which ends without an error, too, when something else is closed.
func (n *news) awaitOr(ctx context.Context, mu *sync.Mutex, other <-chan struct{}) error {
	change := n.wait()
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-change:
		return nil
	case <-other:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *news) tell() {
	if n.change != nil {
		close(n.change)
		n.change = nil
	}
}
