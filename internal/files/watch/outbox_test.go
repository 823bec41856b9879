package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// TestMerge: what happens at a path before it is told is told as one change.
func TestMerge(t *testing.T) {
	t.Parallel()
	const (
		created  = protocol.ChangeCreated
		modified = protocol.ChangeModified
		removed  = protocol.ChangeRemoved
	)
	for _, test := range []struct{ before, then, want protocol.ChangeKind }{
		{created, created, created},
		{created, modified, created},
		{created, removed, removed},
		{modified, created, created},
		{modified, modified, modified},
		{modified, removed, removed},
		{removed, created, created},
		{removed, modified, removed},
		{removed, removed, removed},
	} {
		o := newOutbox(limits.WatchPendingBytes, new(pending))
		o.add("a", test.before)
		o.add("a", test.then)
		if l := o.take(); len(l.changes) != 1 || l.changes[0].kind != test.want {
			t.Errorf("%s, then %s: told %v, want %s", test.before, test.then, l.changes, test.want)
		}
	}
}

// TestVoid: what happened below a directory before that was made or removed is not
// told; what happened afterwards is.
func TestVoid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := newOutbox(limits.WatchPendingBytes, new(pending))
		naive := map[string]protocol.ChangeKind{}
		kinds := []protocol.ChangeKind{protocol.ChangeCreated, protocol.ChangeModified, protocol.ChangeRemoved}
		path := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a!", "b"}), 0, 4).Draw(t, "parts"), "/")
		})
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			p, kind := path.Draw(t, "path"), rapid.SampledFrom(kinds).Draw(t, "kind")
			o.add(p, kind)
			if kind == protocol.ChangeModified {
				if naive[p] == "" {
					naive[p] = kind
				}
				continue
			}
			for other := range naive {
				if p == "" || strings.HasPrefix(other, p+"/") {
					delete(naive, other)
				}
			}
			naive[p] = kind
		}
		got := map[string]protocol.ChangeKind{}
		l := o.take()
		for i, c := range l.changes {
			got[c.path] = c.kind
			for _, earlier := range l.changes[:i] {
				if c.path == "" || strings.HasPrefix(earlier.path, c.path+"/") {
					t.Errorf("%q is told after %q", c.path, earlier.path)
				}
			}
		}
		if diff := cmp.Diff(naive, got); diff != "" {
			t.Errorf("told otherwise:\n%s", diff)
		}
	})
}

func TestComparePaths(t *testing.T) {
	t.Parallel()
	want := []string{"", "a", "a/b", "a/b/c", "a/c", "a!", "a!/b", "a.b", "aa", "b"}
	got := slices.SortedFunc(slices.Values([]string{"b", "aa", "a.b", "a!/b", "a!", "a/c", "a/b/c", "a/b", "a", ""}), comparePaths)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPendingBytes: a client that does not take its changes must look itself.
func TestPendingBytes(t *testing.T) {
	t.Parallel()
	o := newOutbox(limits.WatchPendingBytes, new(pending))
	name := strings.Repeat("x", 1000)
	fits := limits.WatchPendingBytes / (len(name) + 4 + changeBytes)
	for i := range fits {
		o.add(fmt.Sprintf("%s%04d", name, i), protocol.ChangeCreated)
	}
	o.add(name+"0000", protocol.ChangeRemoved) // merges
	if l := o.take(); len(l.changes) != fits || l.rescan {
		t.Fatalf("%d changes, want %d; rescan %v", len(l.changes), fits, l.rescan)
	}
	for i := range fits + 1 {
		o.add(fmt.Sprintf("%s%04d", name, i), protocol.ChangeCreated)
	}
	o.add("a", protocol.ChangeCreated)
	if l := o.take(); len(l.changes) != 0 || !l.rescan {
		t.Fatalf("%d changes; rescan %v", len(l.changes), l.rescan)
	}
	o.add("a", protocol.ChangeCreated)
	if l := o.take(); len(l.changes) != 1 || l.rescan {
		t.Fatalf("afterwards %d changes; rescan %v", len(l.changes), l.rescan)
	}
}

// TestLetter: many changes are several notifications; the first one has the rescan,
// the last one the end.
func TestLetter(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, test := range []struct {
		changes       int
		rescan, ended bool
		want          []int
	}{
		{0, false, false, nil},
		{0, true, false, []int{0}},
		{0, false, true, []int{0}},
		{0, true, true, []int{0}},
		{1, false, false, []int{1}},
		{limits.WatchChanges, false, true, []int{limits.WatchChanges}},
		{2*limits.WatchChanges + 1, true, true, []int{limits.WatchChanges, limits.WatchChanges, 1}},
	} {
		l := letter{rescan: test.rescan}
		if test.ended {
			l.ended = "why"
		}
		for i := range test.changes {
			l.changes = append(l.changes, told{fmt.Sprintf("a/%06d", i), protocol.ChangeCreated})
		}
		all := slices.Collect(l.notifications("id", root))
		var sizes []int
		for i, n := range all {
			sizes = append(sizes, len(n.Changes))
			if n.WatchID != "id" || n.Changes == nil {
				t.Errorf("%+v: notification %+v", test, n)
			}
			if n.Rescan != (test.rescan && i == 0) || (n.Ended != nil) != (test.ended && i == len(all)-1) {
				t.Errorf("%+v: notification %d: rescan %v, ended %v", test, i, n.Rescan, n.Ended)
			}
		}
		if diff := cmp.Diff(test.want, sizes); diff != "" {
			t.Errorf("%+v:\n%s", test, diff)
		}
	}
}
