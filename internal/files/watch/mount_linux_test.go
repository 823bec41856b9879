package watch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// mount mounts an empty file system for the time of the test.
func mount(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// TestMountBelow: no event tells that a directory is hidden by a file system that is
// mounted there; the client must rescan.
func TestMountBelow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `with blank \and more`)
	sub := filepath.Join(dir, "sub")
	must(t, os.MkdirAll(sub, 0o755))
	write(t, filepath.Join(sub, "hidden"), "1")
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	mount(t, sub)
	if n := c.next(); !n.Rescan {
		t.Errorf("told: %+v", n)
	}
	write(t, filepath.Join(sub, "f"), "1")
	if h := c.until(dir); !slices.Contains(h.changes, "created sub/f") {
		t.Errorf("told of what is mounted: %+v", h)
	}
	must(t, unix.Unmount(sub, unix.MNT_DETACH))
	h := c.until(dir)
	for !h.rescan && !slices.Contains(h.changes, "created sub/hidden") {
		h = c.until(dir)
	}
}

// TestMountOver: the path leads to what is mounted there.
func TestMountOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	must(t, os.Mkdir(dir, 0o755))
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	mount(t, dir)
	c.end()
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	must(t, unix.Unmount(dir, unix.MNT_DETACH))
	c.end()
}

// TestMountElsewhere is nobody's business.
func TestMountElsewhere(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	mount(t, other)
	if h := c.until(dir); h.rescan || len(h.changes) != 0 {
		t.Errorf("told: %+v", h)
	}
}
