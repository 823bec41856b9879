package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// TestSlow: a client that takes nothing holds up nobody else; what it has missed
// becomes a rescan, and it is told of what comes after.
func TestSlow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	budget := new(Budget)
	slow, quick := connect(t, budget), connect(t, budget)
	slow.pending = 10 * changeBytes
	p := protocol.WatchParams{Path: uri(t, dir), Recursive: true}
	slow.watch(p)
	quick.watch(p)
	write(t, filepath.Join(dir, "first"), "")
	quick.until(dir)
	for i := range 100 {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), "")
	}
	if h := quick.until(dir); len(h.changes) != 100 || h.rescan {
		t.Errorf("the other one is told %d changes, rescan %v", len(h.changes), h.rescan)
	}
	h := slow.until(dir)
	if !h.rescan {
		t.Errorf("the slow one is told %+v", h)
	}
	write(t, filepath.Join(dir, "later"), "")
	if h := slow.until(dir); len(h.changes) != 1 || h.rescan {
		t.Errorf("afterwards it is told %+v", h)
	}
}

// TestBegin: nothing is told before the answer to a request has been queued, and
// all that has happened since it was made afterwards.
func TestBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	_, begin, err := c.Watch(t.Context(), &protocol.WatchParams{WatchID: "w", Path: uri(t, dir)})
	must(t, err)
	write(t, filepath.Join(dir, "a"), "")
	select {
	case n := <-c.changed:
		t.Errorf("told: %+v", n)
	case <-time.After(20 * c.window):
	}
	begin()
	begin()
	if h := c.until(dir); len(h.changes) != 1 || h.changes[0] != "created a" {
		t.Errorf("told: %+v", h)
	}
}

// TestUnwatch: nothing is told after it, and the id is free.
func TestUnwatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	for range 3 {
		c.watch(protocol.WatchParams{Path: uri(t, dir)})
		c.until(dir)
		result, err := c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "w"})
		if err != nil || !result.Watching {
			t.Fatal(result, err)
		}
		write(t, filepath.Join(dir, "a"), "")
		c.watch(protocol.WatchParams{WatchID: "other", Path: uri(t, dir)})
		if h := c.until(dir); len(h.changes) != 0 {
			t.Errorf("told: %+v", h)
		}
		result, err = c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "w"})
		if err != nil || result.Watching {
			t.Fatal(result, err)
		}
		_, err = c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "other"})
		must(t, err)
	}
}

// TestUnwatchSlow: a request that is given up waits no more for a client that takes
// nothing.
func TestUnwatchSlow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	queueing := make(chan struct{})
	changed := c.config.Changed
	c.config.Changed = func(n *protocol.ChangedNotification) error {
		close(queueing)
		return changed(n)
	}
	c.watch(protocol.WatchParams{Path: uri(t, dir)})
	write(t, filepath.Join(dir, "a"), "")
	<-queueing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Unwatch(ctx, &protocol.UnwatchParams{WatchID: "w"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestClose: it ends what is under way, and nothing can be begun after it.
func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	budget := new(Budget)
	c := connect(t, budget)
	c.watch(protocol.WatchParams{Path: uri(t, dir)})
	write(t, filepath.Join(dir, "a"), "")
	_, _, err := c.Watch(t.Context(), &protocol.WatchParams{WatchID: "never begun", Path: uri(t, dir)})
	must(t, err)
	_, begin, err := c.WatchMissing(t.Context(), &protocol.WatchMissingParams{WatchID: 1, Missing: []protocol.PathURI{uri(t, filepath.Join(dir, "m"))}})
	must(t, err)
	begin()
	c.disconnect()
	c.Close()
	c.refused(protocol.WatchParams{WatchID: "late", Path: uri(t, dir)}, "the connection has ended")
	if _, _, err := c.WatchMissing(t.Context(), &protocol.WatchMissingParams{WatchID: 2}); err == nil {
		t.Error("a watch begins after the end")
	}
	if _, err := c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "w"}); err == nil {
		t.Error("a watch ends after the end")
	}
	if budget.hub != nil || budget.users != 0 {
		t.Errorf("the budget still holds %v, for %d users", budget.hub, budget.users)
	}
}

// TestGivenUp: a call that is given up leaves nothing behind.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755))
	}
	c := connect(t, new(Budget))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := c.Watch(ctx, &protocol.WatchParams{WatchID: "w", Path: uri(t, dir), Recursive: true})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := c.posts(); n != 0 {
		t.Errorf("%d posts are left", n)
	}
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
}
