package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestEnd: a watch whose path leads elsewhere says that it has ended, and its id is
// free.
func TestEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(t *testing.T, top string) // top/above/root is watched
	}{
		{"removed", func(t *testing.T, top string) { must(t, os.RemoveAll(filepath.Join(top, "above/root"))) }},
		{"renamed", func(t *testing.T, top string) {
			must(t, os.Rename(filepath.Join(top, "above/root"), filepath.Join(top, "above/other")))
		}},
		{"removed and made anew", func(t *testing.T, top string) {
			must(t, os.Remove(filepath.Join(top, "above/root")))
			must(t, os.Mkdir(filepath.Join(top, "above/root"), 0o755))
		}},
		{"renamed above", func(t *testing.T, top string) {
			if !chains {
				t.Skip("what is above is not watched here")
			}
			must(t, os.Rename(filepath.Join(top, "above"), filepath.Join(top, "other")))
		}},
		{"removed while in use", func(t *testing.T, top string) {
			if !chains {
				t.Skip("what is above is not watched here")
			}
			root := filepath.Join(top, "above/root")
			dir, err := os.Open(root)
			must(t, err)
			t.Cleanup(func() { dir.Close() })
			must(t, os.Remove(root))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			root := filepath.Join(top, "above/root")
			must(t, os.MkdirAll(root, 0o755))
			c := connect(t, new(Budget))
			p := protocol.WatchParams{Path: uri(t, root), Recursive: true}
			c.watch(p)
			test.do(t, top)
			n := c.end()
			if n.WatchID != "w" || !strings.Contains(*n.Ended, "has been removed, renamed or unmounted") {
				t.Errorf("told: %+v, %q", n, *n.Ended)
			}
			must(t, os.MkdirAll(root, 0o755))
			c.watch(p)
			write(t, filepath.Join(root, "a"), "")
			if h := c.until(root); len(h.changes) != 1 || h.changes[0] != "created a" {
				t.Errorf("told by the watch after it: %+v", h)
			}
			if result, err := c.Unwatch(t.Context(), &protocol.UnwatchParams{WatchID: "w"}); err != nil || !result.Watching {
				t.Error(result, err)
			}
		})
	}
}

// TestEndIsTold: while it is told that a watch has ended its id is not free, and who
// wants it waits.
func TestEndIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	must(t, os.Mkdir(dir, 0o755))
	c := connect(t, new(Budget))
	queued := make(chan struct{})
	changed := c.config.Changed
	c.config.Changed = func(n *protocol.ChangedNotification) error {
		err := changed(n)
		<-queued
		return err
	}
	p := protocol.WatchParams{WatchID: "w", Path: uri(t, dir)}
	c.watch(p)
	must(t, os.Remove(dir))
	c.end()
	must(t, os.Mkdir(dir, 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Watch(ctx, &p); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(queued)
	c.watch(p)
}

// TestFile: a watch of a file goes by its path, as editors put a new file there.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	must(t, os.Mkdir(dir, 0o755))
	file, other := filepath.Join(dir, "f"), filepath.Join(dir, "g")
	write(t, file, "1")
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, file), Recursive: true})
	if n := c.posts(); chains && n != len(steps(file)) {
		t.Errorf("%d directories are watched for %s", n, file)
	}
	for _, step := range []struct {
		do   func()
		want protocol.ChangeKind
	}{
		{func() { write(t, file, "2") }, protocol.ChangeModified},
		{func() { write(t, other, "3"); must(t, os.Rename(other, file)) }, protocol.ChangeCreated},
		{func() { write(t, file, "4") }, protocol.ChangeModified},
		{func() { must(t, os.Remove(file)) }, protocol.ChangeRemoved},
		{func() { must(t, os.Mkdir(file, 0o755)) }, protocol.ChangeCreated},
	} {
		step.do()
		for seen := false; !seen; {
			for _, change := range c.next().Changes {
				if change.Path != uri(t, file) {
					t.Errorf("told of %v", change)
				}
				seen = seen || change.Kind == step.want
			}
		}
	}
	must(t, os.RemoveAll(dir))
	c.end()
}

func TestLinkToFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "1")
	link := filepath.Join(dir, "l")
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	c := connect(t, new(Budget))
	_, _, err := c.Watch(t.Context(), &protocol.WatchParams{WatchID: "w", Path: uri(t, link)})
	if err == nil || !strings.Contains(err.Error(), "watch the file that it leads to") {
		t.Error(err)
	}
}

// TestTwoPaths: two connections watch one directory, by different paths, and each is
// told its own. Package fsnotify, which knows a directory by one path, tells only of
// the first, and of nothing when that is watched no more.
func TestTwoPaths(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, link := filepath.Join(top, "dir"), filepath.Join(top, "link")
	must(t, os.Mkdir(dir, 0o755))
	if err := os.Symlink("dir", link); err != nil {
		t.Skip(err)
	}
	budget := new(Budget)
	a, b := connect(t, budget), connect(t, budget)
	a.watch(protocol.WatchParams{Path: uri(t, dir)})
	b.watch(protocol.WatchParams{Path: uri(t, link)})
	write(t, filepath.Join(dir, "x"), "")
	if h := a.until(dir); len(h.changes) != 1 || h.changes[0] != "created x" {
		t.Errorf("the first is told %+v", h)
	}
	a.disconnect()
	if h := b.until(link); len(h.changes) != 1 || h.changes[0] != "created x" {
		t.Errorf("the second is told %+v", h)
	}
}
