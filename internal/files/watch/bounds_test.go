package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// refused asserts that a watch is refused, and returns the error.
func (c *client) refused(p protocol.WatchParams, want string) {
	c.t.Helper()
	_, _, err := c.Watch(c.t.Context(), &p)
	if err == nil || !strings.Contains(err.Error(), want) {
		c.t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	here := uri(t, dir)
	c.watch(protocol.WatchParams{Path: here})
	c.refused(protocol.WatchParams{Path: here}, "watchId must have 1 to 32 bytes, not 0")
	c.refused(protocol.WatchParams{WatchID: strings.Repeat("x", limits.WatchIDBytes+1), Path: here}, "not 33")
	c.refused(protocol.WatchParams{WatchID: "w", Path: here}, `there is a watch "w" already`)
	c.refused(protocol.WatchParams{WatchID: "v", Path: here, Include: []string{"["}}, "include")
	c.refused(protocol.WatchParams{WatchID: "v", Path: here, Exclude: make([]string, limits.Globs+1)}, "globs")
	c.refused(protocol.WatchParams{WatchID: "v", Path: here, Sandbox: protocol.RestrictedSandbox(protocol.NetworkRestricted)}, "sandbox")
	c.refused(protocol.WatchParams{WatchID: "v", Path: uri(t, filepath.Join(dir, "no"))}, "no")
	if foreign, err := protocol.ParsePathURI("file:///C:/x"); err == nil && filepath.Separator == '/' {
		c.refused(protocol.WatchParams{WatchID: "v", Path: foreign}, "file:///C:/x")
	}
	// What was refused holds no id.
	c.watch(protocol.WatchParams{WatchID: strings.Repeat("x", limits.WatchIDBytes), Path: here})
	c.watch(protocol.WatchParams{WatchID: "v", Path: here})
}

func TestWatchesBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	p := protocol.WatchParams{Path: uri(t, dir)}
	for i := range limits.Watches {
		p.WatchID = fmt.Sprint(i)
		c.watch(p)
	}
	p.WatchID = "more"
	c.refused(p, "there are 64 watches on this connection")
	if result, err := c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "0"}); err != nil || !result.Watching {
		t.Fatal(result, err)
	}
	c.watch(p)
}

// TestDirectoriesBound: a tree that is too large is refused, and a watch whose tree
// becomes too large ends.
func TestDirectoriesBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	c.directories = 10
	p := protocol.WatchParams{WatchID: "w", Path: uri(t, dir), Recursive: true}
	for i := range 9 {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755))
	}
	c.watch(p)
	must(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
	n := c.end()
	if !strings.Contains(*n.Ended, "more than 10 directories") || !n.Rescan {
		t.Errorf("told: %+v, %q", n, *n.Ended)
	}
	c.refused(p, "more than 10 directories")
	p.Exclude = []string{"x"}
	c.watch(p)
}

// TestBudget: what one connection watches is not left for another one, until it
// does so no more.
func TestBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	above := len(steps(dir)) // is watched, too
	if !chains {
		above = 0
	}
	budget := &Budget{most: above + 10}
	a, b := connect(t, budget), connect(t, budget)
	for i := range 9 {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755))
	}
	p := protocol.WatchParams{WatchID: "w", Path: uri(t, dir), Recursive: true}
	a.watch(p)
	b.refused(p, "all watches of this executor together")
	must(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
	if n := a.end(); !strings.Contains(*n.Ended, "all watches of this executor together") || !n.Rescan {
		t.Errorf("told: %+v, %q", n, *n.Ended)
	}
	p.Exclude = []string{"x"}
	b.watch(p)
	b.disconnect()
	a.watch(p)
}

// TestInboxBound: what is not looked at in time is lost, and known to be.
func TestInboxBound(t *testing.T) {
	t.Parallel()
	in := newInbox()
	for i := range limits.WatchEvents {
		for range 2 { // the same twice is one
			in.put(event{name: fmt.Sprint(i), op: modified})
		}
	}
	if events, lost := in.take(); len(events) != limits.WatchEvents || lost {
		t.Fatalf("%d events, lost %v", len(events), lost)
	}
	for i := range limits.WatchEvents + 2 {
		in.put(event{name: fmt.Sprint(i), op: modified})
	}
	if events, lost := in.take(); len(events) != 0 || !lost {
		t.Fatalf("%d events, lost %v", len(events), lost)
	}
	in.put(event{op: modified})
	if events, lost := in.take(); len(events) != 1 || lost {
		t.Fatalf("afterwards %d events, lost %v", len(events), lost)
	}
}
