package client

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Changes are what a [Watcher] tells.
type Changes struct {
	Changes []protocol.PathChange
	// Rescan says that changes have been missed: whoever wants to know what is
	// there has to look.
	Rescan bool
}

// Watcher tells of changes.
//
// When the connection is lost, so is the watch. [Watcher.Next] begins a new one over
// the next connection, and tells to rescan. It tells that, too, in place of more than
// 4096 changes that wait to be taken.
type Watcher struct {
	files  *Files
	params protocol.WatchParams

	mu      sync.Mutex // guards what follows
	news    news
	link    *link  // over which the watch is,
	id      string // and what the executor knows it by
	pending Changes
	err     error // why nothing more will be told
	closed  bool
	abort   context.CancelCauseFunc // ends a begin that is under way
}

// Watch begins to watch a file or a directory: what changes there from its return on
// is told. params.WatchID is filled in. The error wraps errors.ErrUnsupported if the
// executor can't do that. The watcher must be closed.
func (f *Files) Watch(ctx context.Context, params protocol.WatchParams) (*Watcher, error) {
	w := &Watcher{files: f, params: params}
	err := f.executor.lacks("watching", protocol.FeatureFSWatch)
	if err == nil {
		err = w.begin(ctx)
	}
	if err != nil {
		return nil, f.pathError("watch", params.Path, err)
	}
	return w, nil
}

// begin begins a watch over a connection that comes after the one before.
func (w *Watcher) begin(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	w.abort = cancel
	l, closed := w.link, w.closed
	w.mu.Unlock()
	if closed {
		return fs.ErrClosed
	}
	e := w.files.executor
	var broken strikes
	for {
		var err error
		if l, err = e.connected(ctx, l); err != nil {
			return fmt.Errorf("calling %s: %w", protocol.MethodWatch, err)
		}
		params := w.params
		params.WatchID = e.watchers.add(w, e.lastID.Add(1)) // changes may come right behind the answer
		undo := func(ctx context.Context) { unwatch(ctx, l, params.WatchID) }
		_, lost, err := askOrUndo[protocol.WatchResult](ctx, l, protocol.MethodWatch, &params, undo)
		if err == nil {
			err = w.begun(l, params.WatchID)
			if err != nil {
				undo(ctx)
			}
		}
		if err == nil {
			return nil
		}
		e.watchers.remove(params.WatchID)
		if !lost || broken.out(err) {
			return err
		}
	}
}

// begun notes that there is a watch, unless nobody wants it any more.
func (w *Watcher) begun(l *link, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fs.ErrClosed
	}
	w.link, w.id = l, id
	return nil
}

// unwatch ends a watch, if its connection is not over.
func unwatch(ctx context.Context, l *link, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.HandleCloseTimeout)
	defer cancel()
	_, _, _ = ask[protocol.UnwatchResult](ctx, l, protocol.MethodUnwatch, &protocol.UnwatchParams{WatchID: id})
}

// Next waits for changes and returns them. The error wraps [ErrWatchEnded] if the
// executor has ended the watch, and fs.ErrClosed if [Watcher.Close] has. One goroutine
// at a time calls Next.
func (w *Watcher) Next(ctx context.Context) (Changes, error) {
	for {
		changes, lost, err := w.take(ctx)
		if !lost {
			return changes, err
		}
		if err := w.begin(ctx); err != nil {
			return Changes{}, w.fail(err)
		}
		w.put(Changes{Rescan: true}, nil)
	}
}

// take waits for changes. It reports whether the connection was lost before there
// were any.
func (w *Watcher) take(ctx context.Context) (changes Changes, lost bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		over := w.link.isOver() // before it is looked whether it has brought something
		switch {
		case w.closed:
			return Changes{}, false, w.fail(fs.ErrClosed)
		case len(w.pending.Changes) > 0 || w.pending.Rescan:
			changes, w.pending = w.pending, Changes{}
			return changes, false, nil
		case w.err != nil:
			return Changes{}, false, w.fail(w.err)
		case over:
			w.files.executor.watchers.remove(w.id)
			return Changes{}, true, nil
		}
		if err := w.news.awaitOr(ctx, &w.mu, w.link.ended); err != nil {
			return Changes{}, false, w.fail(err)
		}
	}
}

func (w *Watcher) fail(err error) error { return w.files.pathError("watch", w.params.Path, err) }

// put adds what has happened to what waits.
func (w *Watcher) put(changes Changes, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.pending
	p.Changes = append(p.Changes, changes.Changes...)
	p.Rescan = p.Rescan || changes.Rescan
	if len(p.Changes) > limits.PendingChanges {
		*p = Changes{Rescan: true}
	}
	if w.err == nil {
		w.err = err
	}
	w.news.tell()
}

// Close ends the watch, and a [Watcher.Next] that waits.
func (w *Watcher) Close() error {
	w.mu.Lock()
	wasClosed := w.closed
	w.closed = true
	w.abort(fs.ErrClosed)
	w.news.tell()
	l, id := w.link, w.id
	w.mu.Unlock()
	if wasClosed {
		return w.fail(fs.ErrClosed)
	}
	w.files.executor.watchers.remove(id)
	unwatch(context.Background(), l, id)
	return nil
}

// watchers are the watchers that something may be told to, by the ids of their
// watches. The zero value is ready.
type watchers struct {
	mu   sync.Mutex
	byID map[string]*Watcher
}

// add makes an id for a watch out of a number.
func (s *watchers) add(w *Watcher, number uint64) string {
	id := "watch-" + strconv.FormatUint(number, 36)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*Watcher{}
	}
	s.byID[id] = w
	return id
}

func (s *watchers) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// changed hands changes to the watcher that they are for. One that is not there has
// been closed.
func (s *watchers) changed(n *protocol.ChangedNotification) {
	s.mu.Lock()
	w := s.byID[n.WatchID]
	s.mu.Unlock()
	if w == nil {
		return
	}
	var err error
	if n.Ended != nil {
		err = fmt.Errorf("%w: %s", ErrWatchEnded, *n.Ended)
	}
	w.put(Changes{Changes: n.Changes, Rescan: n.Rescan}, err)
}
