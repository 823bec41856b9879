package server

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// deadFileSystem returns a folder in which whoever looks waits for an answer, until
// the test ends.
func deadFileSystem(t *testing.T) string {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Geteuid(), os.Getegid())
	if err := unix.Mount("dead", dir, "fuse", 0, options); err != nil {
		_ = unix.Close(fd)
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(fd) // ends what waits
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDeadFileSystem: looking into it holds up nobody else, at a concurrency of one
// either, and takes no more threads than some.
func TestDeadFileSystem(t *testing.T) {
	w := dial(t, newServer(t, Config{})).open("")
	dir := deadFileSystem(t) // which ends first
	dead, err := protocol.PathURIFromNative(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := threads(t)
	for range 4 * limits.Looks {
		for method, params := range map[string]string{
			protocol.MethodReadRange:             `{"path":"%s/f","bytes":{"offset":0,"length":1}}`,
			protocol.MethodSearch:                `{"path":"%s","pattern":"x"}`,
			protocol.MethodDiscoverRoots:         `{"roots":[{"id":"r","path":"%s"}]}`,
			protocol.MethodEnvironmentConfigRead: `{"cwd":"%s/w","configPaths":[["model"]],"requirementsPaths":[]}`,
		} {
			w.request(method, fmt.Sprintf(params, dead))
		}
	}
	w.call(protocol.MethodEnvironmentStatus, `{}`)
	if more := threads(t) - before; more > 4*limits.Looks {
		t.Errorf("%d threads more than before", more)
	}
}

// threads returns how many threads this process has.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}
