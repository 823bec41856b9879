package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// walked returns what a walk lists.
func walked(t interface{ Fatal(...any) }, files *Files, root protocol.PathURI, options WalkOptions) []string {
	var all []string
	for e, err := range files.Walk(context.Background(), root, options) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Path, " ", e.Kind))
	}
	return all
}

// TestWalkInParts: a tree is listed whole, each entry once and below its directory,
// also if the executor lists only a few entries at a time.
func TestWalkInParts(t *testing.T) {
	f := newFake(t, pacing...)
	e := open(t, f, Options{})
	root := uri(t, "file:///r")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", ".h"})
		paths := rapid.SliceOfN(rapid.SliceOfN(name, 1, 5), 1, 30).Draw(t, "paths")
		f.files.mu.Lock()
		clear(f.files.byPath)
		f.files.mu.Unlock()
		for _, parts := range paths {
			path, err := root.Join(strings.Join(parts, "/") + "/file")
			if err != nil {
				t.Fatal(err)
			}
			f.files.put(path, nil)
		}
		options := WalkOptions{MaxDepth: rapid.IntRange(0, 6).Draw(t, "depth"), SkipHidden: rapid.Bool().Draw(t, "skip hidden")}
		f.files.most = 1 << 20
		want := walked(t, e.Files(), root, options)
		f.files.most = rapid.IntRange(1, 20).Draw(t, "most")
		got := walked(t, e.Files(), root, options)
		for i, entry := range got {
			path, _, _ := strings.Cut(entry, " ")
			parent := path[:strings.LastIndexByte(path, '/')]
			if parent != root.String() && !slices.Contains(got[:i], parent+" directory") {
				t.Fatalf("%s comes before its directory", path)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

// TestWalkDeep: a tree that is deeper than an executor looks is listed whole.
func TestWalkDeep(t *testing.T) {
	f := newFake(t, pacing...)
	e := open(t, f, Options{})
	root := uri(t, "file:///r")
	const depth = 3 * limits.WalkDepth
	path, err := root.Join(strings.Repeat("d/", depth) + "file")
	if err != nil {
		t.Fatal(err)
	}
	f.files.put(path, nil)
	for bound, want := range map[int]int{0: depth + 1, 1: 1, limits.WalkDepth + 1: limits.WalkDepth + 1, 150: 150} {
		if got := walked(t, e.Files(), root, WalkOptions{MaxDepth: bound}); len(got) != want {
			t.Errorf("bounded by %d: %d entries in place of %d", bound, len(got), want)
		}
	}
}

// TestWalkStops: nothing is asked for that nobody wants.
func TestWalkStops(t *testing.T) {
	f := newFake(t, pacing...)
	e := open(t, f, Options{})
	root := uri(t, "file:///r")
	for i := range 10 {
		f.files.put(uri(t, fmt.Sprintf("file:///r/%d/x/y", i)), nil)
	}
	f.files.most = 12
	seen := 0
	for range e.Files().Walk(t.Context(), root, WalkOptions{}) {
		if seen++; seen == 11 {
			break
		}
	}
	if n := f.calls(protocol.MethodWalk); n != 3 { // all, the first level, one tree
		t.Errorf("asked %d times", n)
	}
}

// TestLevelsBelow asserts what is below a directory: nothing whose name could lead out
// of it.
func TestLevelsBelow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dir, path string
		want      int
	}{
		{"file:///", "file:///a", 1},
		{"file:///", "file:///a/b", 2},
		{"file:///d", "file:///d/a", 1},
		{"file:///d/", "file:///d/a/b", 2},
		{"file:///d", "file:///d", 0},
		{"file:///d", "file:///d/", 0},
		{"file:///d", "file:///da", 0},
		{"file:///d", "file:///e/a", 0},
		{"file:///d", "file:///d/..%2F..%2Fx", 0},
		{"file:///d", "file:///d/a%2fb", 0},
		{"file:///d", "file:///d/%2Fpwn", 0},
		{"file:///d", "file:///d/100%25", 1},
	} {
		if got := levelsBelow(uri(t, test.dir), uri(t, test.path)); got != test.want {
			t.Errorf("%s below %s: %d, want %d", test.path, test.dir, got, test.want)
		}
	}
}
