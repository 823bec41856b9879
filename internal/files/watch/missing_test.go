package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// await asks for a watch of what is missing.
func (c *client) await(id uint64, present string, missing ...string) bool {
	c.t.Helper()
	p := &protocol.WatchMissingParams{WatchID: id}
	for _, path := range missing {
		p.Missing = append(p.Missing, uri(c.t, path))
	}
	if present != "" {
		there := uri(c.t, present)
		p.Present = &there
	}
	result, begin, err := c.WatchMissing(c.t.Context(), p)
	must(c.t, err)
	begin()
	return result.Watching
}

// fires asserts that the watch is told of.
func (c *client) fires(id uint64) {
	c.t.Helper()
	select {
	case got := <-c.missing:
		if got != id {
			c.t.Errorf("watch %d fires, not %d", got, id)
		}
	case <-time.After(patience):
		c.t.Fatal("nothing is told")
	}
}

// TestMissing: which paths can be waited for, and what is told of.
func TestMissing(t *testing.T) {
	t.Parallel()
	touch := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { write(t, filepath.Join(dir, name), "1") }
	}
	mkdir := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, name), 0o755)) }
	}
	rename := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to))) }
	}
	for _, test := range []struct {
		name    string
		missing []string
		present string
		do      func(t *testing.T, dir string) // nil: it is refused
		quiet   bool                           // it does not fire
		chains  bool                           // only where what is above is watched
	}{
		{name: "created", missing: []string{"n"}, do: touch("n")},
		{name: "the last of 64", missing: many(64), do: touch("63")},
		{name: "twice the same", missing: []string{"n", "n"}, do: touch("n")},
		{name: "dangling link", missing: []string{"n"}, do: func(t *testing.T, dir string) {
			must(t, os.Symlink("nowhere", filepath.Join(dir, "n")))
		}},
		{name: "deep", missing: []string{"d1/d2/d3"}, do: mkdir("d1")},
		{name: "created and removed", missing: []string{"n"}, do: func(t *testing.T, dir string) {
			touch("n")(t, dir)
			must(t, os.Remove(filepath.Join(dir, "n")))
		}},
		{name: "moved there", missing: []string{"n"}, do: rename("f", "n")},
		{name: "a sibling", missing: []string{"n"}, do: touch("other"), quiet: true},
		{name: "a sibling of what is above", missing: []string{"d1/d2"}, do: mkdir("other"), quiet: true},
		{name: "what is above is removed", missing: []string{"e/n"}, do: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "e")))
		}, chains: true},
		{name: "what is above is renamed", missing: []string{"e/n"}, do: rename("e", "o"), chains: true},
		{name: "what is above that is renamed", missing: []string{"e/sub/n"}, do: rename("e", "o"), chains: true},
		{name: "metadata of what is above", missing: []string{"e/n"}, do: func(t *testing.T, dir string) {
			must(t, os.Chmod(filepath.Join(dir, "e"), 0o700))
		}, chains: true},

		{name: "present is written", missing: []string{"n"}, present: "f", do: touch("f")},
		{name: "present is removed", missing: []string{"n"}, present: "f", do: func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "f")))
		}},
		{name: "present is replaced", missing: []string{"n"}, present: "f", do: func(t *testing.T, dir string) {
			touch("g")(t, dir)
			rename("g", "f")(t, dir)
		}},
		{name: "something in present", missing: []string{"n"}, present: "e", do: touch("e/new"), quiet: true},

		{name: "none"},
		{name: "65", missing: many(65)},
		{name: "is there", missing: []string{"n", "f"}},
		{name: "is a dangling link", missing: []string{"dangling"}},
		{name: "below a dangling link", missing: []string{"dangling/n"}},
		{name: "below a link", missing: []string{"le/n"}},
		{name: "below a file", missing: []string{"f/n"}},
		{name: "too long", missing: []string{strings.Repeat("x", 300)}},
		{name: "present is missing", missing: []string{"n"}, present: "o"},
		{name: "present is a link", missing: []string{"n"}, present: "le"},
		{name: "present below a link", missing: []string{"n"}, present: "le/sub"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.chains && !chains {
				t.Skip("what is above is not watched here")
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			mkdir("e")(t, dir)
			mkdir("e/sub")(t, dir)
			touch("f")(t, dir)
			for link, to := range map[string]string{"dangling": "nowhere", "le": "e"} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Skip(err)
				}
			}
			c := connect(t, new(Budget))
			paths := make([]string, len(test.missing))
			for i, name := range test.missing {
				paths[i] = filepath.Join(dir, name)
			}
			present := test.present
			if present != "" {
				present = filepath.Join(dir, present)
			}
			if got := c.await(1, present, paths...); got != (test.do != nil) {
				t.Fatalf("watching: %v", got)
			}
			if test.do == nil {
				if n := c.posts(); n != 0 {
					t.Errorf("%d posts are left", n)
				}
				return
			}
			test.do(t, dir)
			if test.quiet {
				// What fires afterwards is what it waits for.
				c.stillWaits(1)
				return
			}
			c.fires(1)
		})
	}
}

// stillWaits asserts that all that has happened was nothing to a watch.
func (c *client) stillWaits(id uint64) {
	c.t.Helper()
	c.mu.Lock()
	m := c.Watches.missing
	c.mu.Unlock()
	// What happens at a name comes after all that has happened before.
	dir := c.t.TempDir()
	in := newInbox()
	f, err := openDir(dir, false)
	must(c.t, err)
	defer f.Close()
	p := &post{in: in}
	must(c.t, c.hub.add(f, p))
	defer c.hub.remove(p)
	write(c.t, filepath.Join(dir, "x"), "1")
	<-in.news
	if events, _ := m.in.take(); m.id != id || len(events) != 0 {
		c.t.Errorf("watch %d hears %+v", m.id, events)
	}
	select {
	case <-m.done:
		c.t.Errorf("watch %d has ended", m.id)
	case id := <-c.missing:
		c.t.Errorf("watch %d fires", id)
	default:
	}
}

func many(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

// TestMissingIDs: they must grow, and each new one ends the watch before.
func TestMissingIDs(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	c := connect(t, new(Budget))
	n := filepath.Join(dir, "n")
	for _, step := range []struct {
		id   uint64
		path string
		want bool
	}{
		{0, n, false},
		{5, n, true},
		{5, n, false},
		{4, n, false},
		{7, dir, false}, // is there; the watch before has ended all the same
		{6, n, false},
		{8, n, true},
		{9, n, true},
	} {
		if got := c.await(step.id, "", step.path); got != step.want {
			t.Fatalf("%+v: watching %v", step, got)
		}
	}
	write(t, n, "1")
	c.fires(9)
	if c.await(10, "", n) {
		t.Error("what is there is waited for")
	}
	must(t, os.Remove(n))
	if !c.await(11, "", n) {
		t.Error("what is missing again is not waited for")
	}
	c.await(12, "", dir)
	write(t, n, "1")
	if n := c.posts(); n != 0 {
		t.Errorf("%d posts are left", n)
	}
}

// TestMissingBegin: what is told comes after the answer.
func TestMissingBegin(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	c := connect(t, new(Budget))
	n := filepath.Join(dir, "n")
	_, begin, err := c.WatchMissing(t.Context(), &protocol.WatchMissingParams{WatchID: 1, Missing: []protocol.PathURI{uri(t, n)}})
	must(t, err)
	write(t, n, "1")
	select {
	case <-c.missing:
		t.Error("it fires")
	case <-time.After(3 * limits.MissingDelay):
	}
	begin()
	begin()
	c.fires(1)
}

// TestMissingForeign: a path of another system can't be waited for.
func TestMissingForeign(t *testing.T) {
	t.Parallel()
	if filepath.Separator != '/' {
		t.Skip("drives are at home here")
	}
	foreign, err := protocol.ParsePathURI("file:///C:/x")
	must(t, err)
	c := connect(t, new(Budget))
	result, _, err := c.WatchMissing(t.Context(), &protocol.WatchMissingParams{WatchID: 1, Missing: []protocol.PathURI{foreign}})
	if err != nil || result.Watching {
		t.Error(result, err)
	}
}

// TestMissingDirectories: what takes too many directories is not watched.
func TestMissingDirectories(t *testing.T) {
	t.Parallel()
	if !chains {
		t.Skip("what is above is not watched here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	c := connect(t, new(Budget))
	deep := strings.Repeat("d/", limits.MissingDirectories/60)
	var paths []string
	for i := range 64 {
		path := filepath.Join(dir, fmt.Sprint(i), deep)
		must(t, os.MkdirAll(path, 0o755))
		paths = append(paths, filepath.Join(path, "n"))
	}
	if !c.await(1, "", paths[:40]...) || c.await(2, "", paths...) {
		t.Error("the bound is elsewhere")
	}
	if n := c.posts(); n != 0 {
		t.Errorf("%d posts are left", n)
	}
}
