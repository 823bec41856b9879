package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/airlock-exec/airlock/protocol"
)

// AwaitMissing waits until one of 1 to 64 paths that do not exist may do so, or, if
// present is not nil, until something has changed at that path, which does exist.
// Whoever calls it then looks what is there. It reports false at once if that can't
// be waited for: one of the paths exists already, most likely.
//
// It reports true, too, if the connection is lost. An executor waits for one such
// set of paths: a call that waits ends with [ErrWatchReplaced] when there is another
// one. The error wraps errors.ErrUnsupported if the executor can't do that.
func (f *Files) AwaitMissing(ctx context.Context, missing []protocol.PathURI, present *protocol.PathURI) (bool, error) {
	changed, err := f.awaitMissing(ctx, missing, present)
	if err != nil {
		return false, fmt.Errorf("waiting for missing paths: %w", err)
	}
	return changed, nil
}

func (f *Files) awaitMissing(ctx context.Context, missing []protocol.PathURI, present *protocol.PathURI) (bool, error) {
	e := f.executor
	if !e.Info().Capabilities.FSWatchMissing {
		return false, fmt.Errorf("%w by this executor", errors.ErrUnsupported)
	}
	var l *link
	var broken strikes
	for {
		var err error
		if l, err = e.connected(ctx, l); err != nil {
			return false, err
		}
		w := e.missing.begin(e)
		result, lost, err := ask[protocol.WatchMissingResult](ctx, l, protocol.MethodWatchMissing,
			&protocol.WatchMissingParams{WatchID: w.id, Missing: missing, Present: present})
		switch {
		case lost && !broken.out(err):
			continue
		case err != nil:
			return false, err
		case result.Watching:
			return w.wait(ctx, l)
		case w.isReplaced():
			return false, ErrWatchReplaced
		}
		return false, nil
	}
}

// missingWait waits for paths that are missing.
type missingWait struct {
	id       uint64
	fired    chan struct{} // closed when there may be one
	replaced chan struct{} // closed when others are waited for
	told     bool          // fired is closed
}

func (w *missingWait) wait(ctx context.Context, l *link) (bool, error) {
	select {
	case <-w.fired:
		return true, nil
	case <-w.replaced:
		return false, ErrWatchReplaced
	case <-l.ended:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (w *missingWait) isReplaced() bool {
	select {
	case <-w.replaced:
		return true
	default:
		return false
	}
}

// missingWatch is the one set of missing paths that is waited for.
type missingWatch struct {
	mu  sync.Mutex
	now *missingWait
}

// begin replaces what is waited for. Its id is above all before.
func (m *missingWatch) begin(e *executor) *missingWait {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil {
		close(m.now.replaced)
	}
	m.now = &missingWait{id: e.lastID.Add(1), fired: make(chan struct{}), replaced: make(chan struct{})}
	return m.now
}

// changed notes that the paths may not be missing any more.
func (m *missingWatch) changed(n *protocol.MissingChangedNotification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.now; w != nil && w.id == n.WatchID && !w.told {
		w.told = true
		close(w.fired)
	}
}
