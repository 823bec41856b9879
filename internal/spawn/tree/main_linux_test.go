package tree

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// helperVariable makes the test binary run one of helpers instead of tests.
const helperVariable = "AIRLOCK_TREE_TEST_HELPER"

var helpers = map[string]func(){}

// markerVariable has walk use the marker of that name only, or none.
const markerVariable = "AIRLOCK_TREE_TEST_MARKER"

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(markerVariable); ok {
		useMarker(name)
	}
	if name, ok := os.LookupEnv(helperVariable); ok {
		helpers[name]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func useMarker(name string) {
	named := namedMarker(name)
	markers = nil
	if named != nil {
		markers = []func() *marker{func() *marker { return named }}
	}
}

// eachMeans runs a test for each of the means that reach whole trees.
func eachMeans(t *testing.T, test func(t *testing.T, means Means)) {
	t.Helper()
	for _, means := range []Means{Cgroup2, Freezer, Walk} {
		t.Run(string(means), func(t *testing.T) {
			k, err := Open(Config{Means: means})
			if err != nil {
				t.Skipf("not possible here: %v", err)
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			test(t, means)
		})
	}
}

func open(t testing.TB, config Config) *Keeper {
	t.Helper()
	k, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// family is a script that runs in a tree, and its descendants. All of them have
// one end of a pipe open.
type family struct {
	tree   *Tree
	leader int
	pipe   *os.File
	lines  *bufio.Reader
}

// start runs a script in a new tree until it has written a line. The script and
// its descendants have the pipe as descriptor 3, too.
func start(t testing.TB, k *Keeper, script string) *family {
	t.Helper()
	f, err := run(k, script)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	t.Cleanup(func() { f.pipe.Close() })
	f.line(t)
	return f
}

func run(k *Keeper, script string) (*family, error) {
	tree, err := k.New()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	f := &family{tree: tree, pipe: r, lines: bufio.NewReader(r)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := &syscall.ProcAttr{
		Env:   []string{"PATH=/usr/bin:/bin"},
		Files: []uintptr{2, w.Fd(), 2, w.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if err := tree.Enter(attr.Sys); err != nil {
		return nil, err
	}
	f.leader, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, attr)
	if err == nil {
		err = tree.Started(f.leader)
	}
	tree.Leave()
	return f, err
}

// line returns the next line that the family writes.
func (f *family) line(t testing.TB) string {
	t.Helper()
	line, err := f.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// reap reaps the leader, once it is dead.
func (f *family) reap() {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, f.leader, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	f.tree.Reaping()
	_, _ = syscall.Wait4(f.leader, nil, 0, nil)
}

// alive tells whether anybody has the pipe open.
func (f *family) alive(t testing.TB) bool { return !hungUp(t, f.pipe, 0) }

// awaitDeath waits until nobody is alive.
func (f *family) awaitDeath(t testing.TB) {
	t.Helper()
	if !hungUp(t, f.pipe, 10*time.Second) {
		t.Fatal("some of the tree live on")
	}
}

func hungUp(t testing.TB, pipe *os.File, timeout time.Duration) bool {
	t.Helper()
	conn, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var fds [1]unix.PollFd
	err = conn.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		for {
			// No events asked for: what remains is the end.
			if _, err := unix.Poll(fds[:], int(timeout.Milliseconds())); err != unix.EINTR {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return fds[0].Revents&unix.POLLHUP != 0
}

// mustKill kills a tree, reaps its leader and releases it.
func (f *family) mustKill(t testing.TB) {
	t.Helper()
	if !f.tree.Kill() {
		t.Error("Kill: the tree is not known to be dead")
	}
	if f.alive(t) {
		t.Error("some of the tree live on")
	}
	f.reap()
	f.tree.Release()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// collected are the records that a keeper has made.
type collected struct{ records []string }

func (c *collected) Add(record string) { c.records = append(c.records, record) }

func (c *collected) Remove(record string) {
	for i, r := range c.records {
		if r == record {
			c.records = append(c.records[:i], c.records[i+1:]...)
			return
		}
	}
	panic("removed a record that has not been added: " + record)
}

// path returns what the only record names.
func (c *collected) path(t testing.TB) string {
	t.Helper()
	if len(c.records) != 1 {
		t.Fatalf("records %q, want one", c.records)
	}
	_, path, err := parseRecord(c.records[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func deadlineNow() time.Time { return time.Now().Add(killTime) }
