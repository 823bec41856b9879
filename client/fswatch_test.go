package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

var watching = append([]string{protocol.FeatureFSWatch}, pacing...)

func watch(t *testing.T, e Executor) *Watcher {
	t.Helper()
	w, err := e.Files().Watch(t.Context(), protocol.WatchParams{Path: uri(t, "file:///r"), Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// change tells all watches of changes.
func (f *fake) change(n protocol.ChangedNotification) {
	for _, id := range f.files.watching() {
		n.WatchID = id
		f.send(protocol.NotificationChanged, &n)
	}
}

func changes(t *testing.T, names ...string) []protocol.PathChange {
	t.Helper()
	var all []protocol.PathChange
	for _, name := range names {
		all = append(all, protocol.PathChange{Path: uri(t, "file:///r/"+name), Kind: protocol.ChangeCreated})
	}
	return all
}

// TestWatch: changes come in their order, and behind them the end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, watching...)
		e := open(t, f, Options{})
		w := watch(t, e)
		f.change(protocol.ChangedNotification{Changes: changes(t, "a")})
		f.change(protocol.ChangedNotification{Changes: changes(t, "b"), Ended: new("it is gone")})
		synctest.Wait()
		got, err := w.Next(t.Context())
		if err != nil || got.Rescan || len(got.Changes) != 2 || got.Changes[1].Path.Base() != "b" {
			t.Errorf("%+v, error %v", got, err)
		}
		_, err = w.Next(t.Context())
		if failed, ok := errors.AsType[*fs.PathError](err); !errors.Is(err, ErrWatchEnded) || !ok || failed.Path != "file:///r" {
			t.Errorf("at the end: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := w.Next(t.Context()); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("when closed: %v", err)
		}
		if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed again: %v", err)
		}
	})
}

// TestWatchOverflow: what nobody takes does not pile up.
func TestWatchOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, watching...)
		e := open(t, f, Options{})
		w := watch(t, e)
		defer w.Close()
		for i := range limits.PendingChanges {
			f.change(protocol.ChangedNotification{Changes: changes(t, fmt.Sprint(i))})
		}
		synctest.Wait()
		w.mu.Lock()
		waiting := len(w.pending.Changes)
		w.mu.Unlock()
		if waiting != limits.PendingChanges {
			t.Errorf("%d changes wait", waiting)
		}
		f.change(protocol.ChangedNotification{Changes: changes(t, "too many")})
		f.change(protocol.ChangedNotification{Changes: changes(t, "after")})
		synctest.Wait()
		got, err := w.Next(t.Context())
		if err != nil || !got.Rescan || len(got.Changes) != 1 || got.Changes[0].Path.Base() != "after" {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

// TestWatchGoesOn: over a new connection there is a new watch, and what has changed
// meanwhile has to be looked for.
func TestWatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, watching...)
		e := open(t, f, Options{})
		w := watch(t, e)
		f.change(protocol.ChangedNotification{Changes: changes(t, "a")})
		synctest.Wait()
		before := f.files.watching()
		f.cut()
		for i, want := range []Changes{{Changes: changes(t, "a")}, {Rescan: true}} {
			if got, err := w.Next(t.Context()); err != nil || got.Rescan != want.Rescan || len(got.Changes) != len(want.Changes) {
				t.Errorf("element %d: %+v, error %v", i, got, err)
			}
		}
		for _, id := range before { // of the connection before
			_ = f.files.watch(id, false)
		}
		f.change(protocol.ChangedNotification{Changes: changes(t, "b")})
		if got, err := w.Next(t.Context()); err != nil || got.Rescan || len(got.Changes) != 1 {
			t.Errorf("over the new one: %+v, error %v", got, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if left := f.files.watching(); len(left) != 0 {
			t.Errorf("%q are watched", left)
		}
		e.watchers.mu.Lock()
		defer e.watchers.mu.Unlock()
		if n := len(e.watchers.byID); n != 0 {
			t.Errorf("%d watches are remembered", n)
		}
	})
}

// TestWatchEnds: what waits for changes ends with its context, the watcher and the
// executor.
func TestWatchEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(cancel func(), w *Watcher, e Executor)
		want error
	}{
		"context":  {func(cancel func(), _ *Watcher, _ Executor) { cancel() }, context.Canceled},
		"watcher":  {func(_ func(), w *Watcher, _ Executor) { _ = w.Close() }, fs.ErrClosed},
		"executor": {func(_ func(), _ *Watcher, e Executor) { _ = e.Close() }, ErrDisconnected},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, watching...)
				e := open(t, f, Options{})
				w := watch(t, e)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error)
				go func() {
					_, err := w.Next(ctx)
					failed <- err
				}()
				synctest.Wait()
				test.end(cancel, w, e)
				if err := <-failed; !errors.Is(err, test.want) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// TestWatchClosedBetween: closing a watcher ends what waits for changes also while there
// is no connection, or no answer over the new one, and then no watch is left.
func TestWatchClosedBetween(t *testing.T) {
	for name, lose := range map[string]func(f *fake, answer chan struct{}){
		"no connection": func(f *fake, _ chan struct{}) { f.unreachable = true },
		"no answer":     func(f *fake, answer chan struct{}) { f.files.hold = answer },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, watching...)
				e := open(t, f, Options{})
				w := watch(t, e)
				before := f.files.watching()
				answer := make(chan struct{})
				f.mu.Lock()
				lose(f, answer)
				f.mu.Unlock()
				f.cut()
				failed := make(chan error)
				go func() {
					_, err := w.Next(t.Context())
					failed <- err
				}()
				time.Sleep(time.Second)
				began := time.Now()
				if err := w.Close(); err != nil {
					t.Error(err)
				}
				if err := <-failed; !errors.Is(err, fs.ErrClosed) || time.Since(began) != 0 {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				close(answer)
				synctest.Wait()
				if left := f.files.watching(); len(left) != len(before) {
					t.Errorf("%q are watched", left)
				}
				e.watchers.mu.Lock()
				defer e.watchers.mu.Unlock()
				if n := len(e.watchers.byID); n != 0 {
					t.Errorf("%d watches are remembered", n)
				}
			})
		})
	}
}

// TestWatchUnsupported: an executor that can't watch is not asked.
func TestWatchUnsupported(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		_, err := e.Files().Watch(t.Context(), protocol.WatchParams{Path: uri(t, "file:///r")})
		if !errors.Is(err, errors.ErrUnsupported) || f.calls(protocol.MethodWatch) != 0 {
			t.Error(err)
		}
	})
}

// TestAwaitMissing: it is told once that a path may be there, also when it can't be
// known as the connection is lost.
func TestAwaitMissing(t *testing.T) {
	for name, test := range map[string]struct {
		happen  func(f *fake, id uint64)
		changed bool
		want    error
	}{
		"told": {func(f *fake, id uint64) {
			for range 2 {
				f.send(protocol.NotificationMissingChanged, &protocol.MissingChangedNotification{WatchID: id})
			}
		}, true, nil},
		"of another": {func(f *fake, id uint64) {
			f.send(protocol.NotificationMissingChanged, &protocol.MissingChangedNotification{WatchID: id + 1})
		}, false, context.DeadlineExceeded},
		"cut": {func(f *fake, _ uint64) { f.cut() }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				e := open(t, f, Options{})
				go func() {
					time.Sleep(time.Second)
					test.happen(f, f.files.awaiting())
				}()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				changed, err := e.Files().AwaitMissing(ctx, []protocol.PathURI{uri(t, "file:///a")}, nil)
				if changed != test.changed || !errors.Is(err, test.want) {
					t.Errorf("%v, error %v", changed, err)
				}
			})
		})
	}
}

// TestAwaitMissingReplaced: the executor watches for one set of paths only.
func TestAwaitMissingReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		e := open(t, f, Options{})
		path := uri(t, "file:///there")
		f.files.put(path, nil)
		failed := make(chan error)
		go func() {
			_, err := e.Files().AwaitMissing(t.Context(), []protocol.PathURI{uri(t, "file:///a")}, nil)
			failed <- err
		}()
		synctest.Wait()
		if changed, err := e.Files().AwaitMissing(t.Context(), []protocol.PathURI{path}, nil); changed || err != nil {
			t.Errorf("of a path that is there: %v, error %v", changed, err)
		}
		if err := <-failed; !errors.Is(err, ErrWatchReplaced) {
			t.Errorf("the one before: %v", err)
		}
	})
}
