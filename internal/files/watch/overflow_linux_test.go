package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// overflow has the system's queue overflow while work is done: the hub can't hand
// anything on meanwhile.
func overflow(t *testing.T, c *client, dir string, work func()) {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if most > 100_000 {
		t.Skipf("the system queues %d events", most)
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	name := [2]string{filepath.Join(dir, "n0"), filepath.Join(dir, "n1")}
	write(t, name[0], "")
	// What the reader has taken already, 64 KiB, is not in the queue.
	for i := range most/2 + 4096 {
		must(t, os.Rename(name[i%2], name[(i+1)%2]))
	}
	work()
}

// TestOverflow: when the system has dropped events, directories that were made
// meanwhile are watched all the same, and the client is told to rescan.
func TestOverflow(t *testing.T) {
	dir := t.TempDir()
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	deep := filepath.Join(dir, "made/in/between")
	overflow(t, c, dir, func() { must(t, os.MkdirAll(deep, 0o755)) })
	if h := c.until(dir); !h.rescan {
		t.Errorf("told: %d changes, no rescan", len(h.changes))
	}
	write(t, filepath.Join(deep, "f"), "")
	if h := c.until(dir); !slices.Equal(h.changes, []string{"created made/in/between/f"}) {
		t.Errorf("afterwards told: %+v", h)
	}
}

// TestOverflowAtEnd: the end of a watch is known also if the system has dropped what
// says so.
func TestOverflowAtEnd(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	must(t, os.Mkdir(dir, 0o755))
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	overflow(t, c, dir, func() { must(t, os.Rename(dir, filepath.Join(top, "other"))) })
	c.end()
}

// TestOverflowMissing: what is missing may be there when events have been dropped.
func TestOverflowMissing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir)})
	if !c.await(1, "", filepath.Join(dir, "m")) {
		t.Fatal("nothing is watched")
	}
	overflow(t, c, dir, func() {})
	c.fires(1)
}

// TestNames: a name need not be text.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	name := "a\xffb % #\n\\"
	if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(dir, name, "..."), "")
	if h := c.until(dir); !slices.Equal(h.changes, []string{"created " + name, "created " + name + "/..."}) {
		t.Errorf("told: %q", h.changes)
	}
}

// TestUnlinked: a file that is still written to, but is nowhere, does not change.
func TestUnlinked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := connect(t, new(Budget))
	f, err := os.Create(filepath.Join(dir, "f"))
	must(t, err)
	defer f.Close()
	c.watch(protocol.WatchParams{Path: uri(t, dir)})
	must(t, os.Remove(f.Name()))
	if h := c.until(dir); !slices.Equal(h.changes, []string{"removed f"}) {
		t.Errorf("told: %+v", h)
	}
	_, err = f.WriteString("1")
	must(t, err)
	if h := c.until(dir); len(h.changes) != 0 {
		t.Errorf("told: %+v", h)
	}
}

// TestUnreadable: what can't be looked into is left out, and watched when it can be.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root can look into everything")
	}
	dir := t.TempDir()
	shut := filepath.Join(dir, "shut")
	must(t, os.Mkdir(shut, 0o300))
	c := connect(t, new(Budget))
	c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
	write(t, filepath.Join(shut, "a"), "")
	must(t, os.Chmod(shut, 0o700))
	h := c.until(dir)
	if want := []string{"modified shut", "created shut/a"}; !slices.Equal(h.changes, want) {
		t.Errorf("told %q, want %q", h.changes, want)
	}
}

// TestDescriptors: nothing stays open, whatever came of the watches.
func TestDescriptors(t *testing.T) {
	count := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(open)
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	before := count()
	full := connect(t, &Budget{most: len(steps(dir)) + 1})
	for range 20 {
		full.refused(protocol.WatchParams{WatchID: "w", Path: uri(t, dir), Recursive: true}, "all watches")
	}
	full.disconnect()
	for i := range 20 {
		c := connect(t, new(Budget))
		c.watch(protocol.WatchParams{Path: uri(t, dir), Recursive: true})
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i)), 0o755))
		c.refused(protocol.WatchParams{WatchID: "x", Path: uri(t, filepath.Join(dir, "no"))}, "no")
		c.await(1, "", filepath.Join(dir, "m"))
		c.await(2, "", dir)
		c.until(dir)
		c.disconnect()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
}

// TestSwapped: a directory that is a symbolic link by the time that it is looked at
// leads nowhere.
func TestSwapped(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(outside, link))
	if f, err := openDir(link, false); err == nil {
		f.Close()
		t.Fatal("a link is followed")
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	if f, err := openDir(filepath.Join(dir, "fifo"), true); err == nil { // and does not wait
		f.Close()
		t.Fatal("a FIFO is a directory")
	}
}
