package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/protocol"
)

// watch is one watch of a client.
type watch struct {
	id    string
	path  string // of what is watched
	tree  tree
	guard *guard
	in    *inbox
	out   *outbox

	window time.Duration // how long changes are gathered
	begun  chan struct{} // closed when something may be told
	begin  func()
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing is told any more
}

// open begins to watch.
func (w *watch) open(ctx context.Context, h *hub) error {
	w.tree.hub = h
	w.tree.root = w.path
	info, err := os.Stat(w.path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if info, err = w.narrow(); err != nil {
			return err
		}
	}
	h.join(w.in)
	w.guard = newGuard(h, w.in, w.tree.root, info)
	if err = w.tree.plant(ctx); err == nil && !w.guard.holds() {
		err = protocol.Errorf(protocol.CodeInvalidRequest, "%s was moved or removed meanwhile; try again", w.path)
	}
	if err != nil {
		w.release()
	}
	return err
}

// narrow watches one file in the directory that it is in, so that its path is
// followed when another file is put there.
func (w *watch) narrow() (os.FileInfo, error) {
	info, err := os.Lstat(w.path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"path `%s` is a symbolic link to a file; watch the file that it leads to", w.path)
	}
	w.tree.root, w.tree.only = filepath.Split(w.path)
	w.tree.root = filepath.Clean(w.tree.root)
	w.tree.recursive = false
	return os.Stat(w.tree.root)
}

// release watches nothing any more.
func (w *watch) release() {
	w.tree.uproot()
	w.guard.release()
	w.tree.hub.leave(w.in)
}

// run follows what happens and tells of it, until the context ends, the watch can't
// go on, or telling fails.
func (w *watch) run(ctx context.Context, changed func(*protocol.ChangedNotification) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var following sync.WaitGroup
	following.Go(func() {
		defer w.release()
		w.follow(ctx)
	})
	w.tell(ctx, changed)
	cancel()
	following.Wait()
	w.out.missed() // what has not been told nobody learns, and it is let go
}

// follow takes in what happens, until the context ends or the watch can't go on.
func (w *watch) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.in.news:
		}
		events, lost := w.in.take()
		if lost && !pause(ctx, w.window) { // what floods us may pass
			return
		}
		err := w.work(ctx, events, lost)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if !errors.Is(err, errGone) {
				w.out.missed()
			}
			w.out.end(fault.Text(err))
			return
		}
	}
}

// work takes in some events. The error is why the watch can't go on.
func (w *watch) work(ctx context.Context, events []event, lost bool) error {
	doubt, remounted := lost, false
	for _, e := range events {
		if w.tree.nodes[e.post] == nil { // it is about all, or about what is above
			doubt = true
			remounted = remounted || e.op == mounted
			continue
		}
		itself, err := w.tree.follow(ctx, e)
		if err != nil {
			return err
		}
		doubt = doubt || itself
	}
	if doubt && !w.guard.holds() {
		return errGone
	}
	if lost || remounted && w.guard.mountsChanged() {
		return w.restart(ctx)
	}
	return nil
}

// restart looks at the tree anew, as events have been missed.
func (w *watch) restart(ctx context.Context) error {
	w.tree.uproot()
	if err := w.tree.plant(ctx); err != nil {
		return err
	}
	w.out.missed()
	return nil
}

// tell sends what is to be told, until the context ends, sending fails or the end
// has been told.
func (w *watch) tell(ctx context.Context, changed func(*protocol.ChangedNotification) error) {
	if !wait(ctx, w.begun) {
		return
	}
	for wait(ctx, w.out.news) && pause(ctx, w.window) {
		l := w.out.take()
		going := w.send(ctx, l, changed)
		w.out.done(l)
		if !going {
			return
		}
	}
}

// send sends a letter, and reports false if it was the last one.
func (w *watch) send(ctx context.Context, l letter, changed func(*protocol.ChangedNotification) error) bool {
	for n := range l.notifications(w.id, w.path) {
		if ctx.Err() != nil || changed(n) != nil {
			return false
		}
	}
	return l.ended == ""
}

// wait waits for a channel, and reports false if the context ends first.
func wait(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// pause waits for some time, and reports false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
