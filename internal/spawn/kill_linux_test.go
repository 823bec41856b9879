package spawn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// fifo makes a FIFO in cmd's directory; the function it returns waits until
// somebody opens it for writing.
func fifo(t *testing.T, dir, name string) (wait func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for _, tty := range []bool{false, true} {
		cmd := shell("sleep 1000 & echo $!; wait")
		if tty {
			onTerminal(cmd)
		}
		p, r := start(t, s, cmd)
		stream := Stdout
		if tty {
			stream = Terminal
		}
		r.await(t, stream, "\n")
		wait := death(t, number(t, r.text(stream)))
		p.Kill()
		<-r.closed
		if r.code != 137 {
			t.Errorf("exit code %d, want 137", r.code)
		}
		wait() // the whole group dies
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What was written before the kill is handed over, even if the process was
// held back at the time.
func TestKillKeepsTail(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for i := range 20 {
		dir := t.TempDir()
		written := fifo(t, dir, "written")
		cmd := shell("head -c 50000 /dev/zero; head -c 40000 /dev/zero >&2; : > written; sleep 1000")
		cmd.Dir = dir
		r := newRecord()
		if i%2 == 0 {
			r.admit = func(stop <-chan struct{}) { <-stop }
		}
		p, err := startFor(s, cmd, r)
		if err != nil {
			t.Fatal(err)
		}
		written()
		p.Kill()
		<-r.closed
		if out, err := len(r.text(Stdout)), len(r.text(Stderr)); out != 50000 || err != 40000 {
			t.Fatalf("got %d and %d bytes, want 50000 and 40000", out, err)
		}
	}
}

// Where trees are not held together, a descendant that has left the group
// survives, but doesn't hold up the end.
func TestKillWithEscapee(t *testing.T) {
	t.Parallel()
	s := New(Config{Means: tree.Group})
	t.Cleanup(s.Close)
	tests := []struct {
		name, script string
		code         int
	}{
		{"kill while running", "setsid sleep 1000 & echo $!; sleep 1000", 137},
		{"kill after exit", "setsid sleep 1000 & echo $!; exit 3", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, r := start(t, s, shell(test.script))
			r.await(t, Stdout, "\n")
			escapee := number(t, r.text(Stdout))
			defer syscall.Kill(escapee, syscall.SIGKILL)
			// Until it has run setsid it is still in the group.
			awaitSession(t, escapee)
			if test.code != 137 {
				<-r.exited
			}
			p.Kill()
			<-r.closed
			if r.code != test.code {
				t.Errorf("exit code %d, want %d", r.code, test.code)
			}
			if err := syscall.Kill(escapee, 0); err != nil {
				t.Errorf("escapee: %v", err)
			}
		})
	}
}

// awaitSession waits until a process leads a session.
func awaitSession(t *testing.T, pid int) {
	t.Helper()
	for {
		sid, err := unix.Getsid(pid)
		if err != nil {
			t.Fatal(err)
		}
		if sid == pid {
			return
		}
	}
}

// After the exit, Kill reaches what is left of the group.
func TestKillAfterExit(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("sleep 1000 & echo $!; exit 3"))
	<-r.exited
	left := number(t, r.text(Stdout))
	wait := death(t, left)
	if _, err := p.Signal(INT); err != nil {
		t.Errorf("Interrupt after exit: %v", err)
	}
	if got := r.history(); got != "stdout exited" {
		t.Errorf("events %q, want %q", got, "stdout exited")
	}
	p.Kill()
	<-r.closed
	wait()
	if r.code != 3 {
		t.Errorf("exit code %d, want 3", r.code)
	}
	p.Kill()
}

// Kill may be called by the events themselves.
func TestKillFromEvents(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	r := &killer{record: newRecord(), process: make(chan *Process, 1)}
	p, err := startFor(s, shell("sleep 1000 & exit 3"), r)
	if err != nil {
		t.Fatal(err)
	}
	r.process <- p
	<-r.closed
	if r.code != 3 {
		t.Errorf("exit code %d, want 3", r.code)
	}
}

type killer struct {
	*record
	process chan *Process
}

func (k *killer) Exited(code int) {
	(<-k.process).Kill()
	k.record.Exited(code)
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for _, tty := range []bool{false, true} {
		cmd := &Command{Argv: []string{"/bin/sleep", "1000"}, Dir: "/"}
		if tty {
			onTerminal(cmd)
		}
		p, r := start(t, s, cmd)
		if _, err := p.Signal(INT); err != nil {
			t.Error(err)
		}
		<-r.closed
		if r.code != 130 {
			t.Errorf("tty %v: exit code %d, want 130", tty, r.code)
		}
	}

	// The whole group gets it: the leader, which goes on, and its child.
	p, r := start(t, s, shell("trap 'echo leader' INT; echo ready; sleep 1000; echo over"))
	r.await(t, Stdout, "ready\n")
	for !strings.Contains(r.text(Stdout), "over") {
		if _, err := p.Signal(INT); err != nil {
			t.Fatal(err)
		}
	}
	<-r.closed
	if got := r.text(Stdout); !strings.Contains(got, "leader\n") {
		t.Errorf("output %q, want leader and over", got)
	}
}
