package watch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestShare: watches at one directory that want to know different things of it take
// nothing away from each other, whichever was first and whichever ends.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, innerFirst := range []bool{true, false} {
		dir := t.TempDir()
		inner := filepath.Join(dir, "inner")
		must(t, os.Mkdir(inner, 0o755))
		write(t, filepath.Join(dir, "f"), "")
		budget := new(Budget)
		a, b := connect(t, budget), connect(t, budget)
		outer := func() { a.watch(protocol.WatchParams{Path: uri(t, dir)}) }
		if !innerFirst {
			outer()
		}
		b.watch(protocol.WatchParams{Path: uri(t, inner)}) // of dir, only what is made and removed
		if innerFirst {
			outer()
		}
		for range 2 {
			must(t, os.Chmod(filepath.Join(dir, "f"), 0o700))
			if h := a.until(dir); !slices.Contains(h.changes, "modified f") {
				t.Errorf("inner first %v: told %+v", innerFirst, h)
			}
			b.disconnect()
		}
	}
}

// TestNothingIsLeft: what has been watched counts no more when it has gone, or the
// watch has.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	budget := new(Budget)
	a, b := connect(t, budget), connect(t, budget)
	must(t, os.MkdirAll(filepath.Join(dir, "1/2/3"), 0o755))
	for _, c := range []*client{a, b} {
		c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	}
	must(t, os.MkdirAll(filepath.Join(dir, "4/5/6"), 0o755))
	must(t, os.Rename(filepath.Join(dir, "4"), filepath.Join(dir, "7")))
	must(t, os.RemoveAll(filepath.Join(dir, "1")))
	for _, c := range []*client{a, b} {
		c.until(dir)
		_, err := c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "w"})
		must(t, err)
	}
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	if a.hub.count != 0 || len(a.hub.posts) != 0 || len(a.hub.boxes) != 0 {
		t.Errorf("%d posts at %d directories, %d inboxes are left", a.hub.count, len(a.hub.posts), len(a.hub.boxes))
	}
}
