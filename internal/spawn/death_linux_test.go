package spawn

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

func init() {
	helpers["deathsig"] = helperDeathSignal
	helpers["die"] = helperDie
}

// helperDeathSignal prints its parent-death signal.
func helperDeathSignal() {
	var sig int32
	err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&sig)), 0, 0, 0)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(sig)
}

// helperDie spawns a process, prints its id and waits for its own end.
func helperDie() {
	s := open()
	p, err := startFor(s, &Command{Argv: []string{"/bin/sleep", "1000"}, Dir: "/", Env: testEnv}, newRecord())
	fmt.Println(p.PID(), err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestDeathSignal(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &Command{Argv: []string{self}, Dir: "/", Env: []string{helperVariable + "=deathsig"}}
	if got := output(t, s, cmd); got != "15\n" {
		t.Errorf("death signal with pipes %q, want 15", got)
	}
	if got := output(t, s, onTerminal(cmd)); got != "0\r\n" {
		t.Errorf("death signal with a terminal %q, want 0", got)
	}
}

// The death signal goes by thread. Threads come and go, children stay.
func TestChildOutlivesThreads(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, &Command{Argv: []string{"/bin/cat"}, Dir: "/", Stdin: true})
	var threads sync.WaitGroup
	for range 50 {
		threads.Go(runtime.LockOSThread) // never unlocked: the thread ends
	}
	threads.Wait()
	p.CloseStdin()
	<-r.closed
	if r.code != 0 {
		t.Errorf("exit code %d, want 0", r.code)
	}
}

// When the program is killed its children learn of it.
func TestDeathOfParent(t *testing.T) {
	t.Parallel()
	cmd := reexec(t, "die", "")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	wait := death(t, pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait()
	// The next one removes what a dead program has left.
	k, err := tree.Open(tree.Config{Means: tree.Group})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// death returns a function that waits for the end of a process which is alive
// now.
func death(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 10_000)
		for err == unix.EINTR {
			n, err = unix.Poll(fds, 10_000)
		}
		if n != 1 {
			t.Fatalf("process %d lives on (%v)", pid, err)
		}
	}
}
