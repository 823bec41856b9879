//go:build unix

package spawn

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	tests := []struct {
		script string
		want   int
	}{
		{"exit 0", 0},
		{"exit 1", 1},
		{"exit 255", 255},
		{"exit 256", 0},
		{"kill -TERM $$", 143},
		{"kill -KILL $$", 137},
		{"kill -HUP $$", 129},
		{"kill -SEGV $$", 139},
		{"kill -INT $$", 130},
		{"kill -USR1 $$", 128 + int(syscall.SIGUSR1)},
		{"kill -PIPE $$", 141},
	}
	for _, test := range tests {
		for _, tty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/tty=%v", test.script, tty), func(t *testing.T) {
				cmd := shell(test.script)
				if tty {
					onTerminal(cmd)
				}
				p, r := start(t, s, cmd)
				<-r.closed
				if r.code != test.want {
					t.Errorf("exit code %d, want %d", r.code, test.want)
				}
				if err := syscall.Kill(p.PID(), 0); err != syscall.ESRCH {
					t.Errorf("signalling process %d after Closed: %v, want ESRCH: it has not been reaped", p.PID(), err)
				}
				if got := r.history(); got != "exited closed" {
					t.Errorf("events %q, want %q", got, "exited closed")
				}
			})
		}
	}
}

// A stop is not an exit.
func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := shell("read x; exit 5")
	cmd.Stdin = true
	p, r := start(t, s, cmd)
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(p.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	if r.code != 5 {
		t.Errorf("exit code %d, want 5", r.code)
	}
}

// What a process wrote before it exited is handed over before the exit is, and
// what its children write later comes after, in either order of events in the
// kernel: the exit and the output become known by different descriptors.
func TestOutputBeforeExit(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	tests := []struct {
		name, script, stdout, stderr, late string
	}{
		{name: "last words", script: "echo out; echo err >&2; exit 4", stdout: "out\n", stderr: "err\n"},
		{name: "silent", script: "exit 4"},
		{
			name:   "background child",
			script: "exec 3<&0; (read x <&3; echo late) & echo x; exit 4",
			stdout: "x\n", late: "late\n",
		},
		{
			name:   "background child on standard error",
			script: "exec 3<&0; (read x <&3) >/dev/null & echo x; exit 4",
			stdout: "x\n",
		},
		{
			name:   "more than one read",
			script: "exec 3<&0; (read x <&3; echo late) & head -c 200000 /dev/zero | tr '\\0' x; exit 4",
			stdout: strings.Repeat("x", 200000), late: "late\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for range 100 {
				cmd := shell(test.script)
				cmd.Stdin = true
				p, r := start(t, s, cmd)
				<-r.exited
				if r.code != 4 {
					t.Fatalf("exit code %d, want 4", r.code)
				}
				if got := r.text(Stdout); got != test.stdout {
					t.Fatalf("standard output at exit %q, want %q", got, test.stdout)
				}
				if got := r.text(Stderr); got != test.stderr {
					t.Fatalf("standard error at exit %q, want %q", got, test.stderr)
				}
				if test.late != "" {
					if err := p.Write([]byte("go\n")); err != nil {
						t.Fatalf("writing to the standard input that a background child has: %v", err)
					}
				} else {
					p.CloseStdin()
				}
				<-r.closed
				if got, want := r.text(Stdout), test.stdout+test.late; got != want {
					t.Fatalf("standard output %q, want %q", got, want)
				}
			}
		})
	}
}

// A stream comes complete and in order, in reads large and small.
func TestLargeOutput(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	const last = 500_000
	got := output(t, s, shell(fmt.Sprintf("seq 1 %d", last)))
	rest := got
	for i := 1; i <= last; i++ {
		line, after, _ := strings.Cut(rest, "\n")
		if line != strconv.Itoa(i) {
			t.Fatalf("line %d is %q", i, line)
		}
		rest = after
	}
	if rest != "" {
		t.Errorf("%d bytes too many", len(rest))
	}
}

// A process that is held back has its output handed over all the same when it
// has exited, and what it leaves behind is held back again.
func TestExitOfHeldProcess(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := shell("exec 3<&0; (read x <&3; echo late) & head -c 60000 /dev/zero; exit 4")
	cmd.Stdin = true
	r := newRecord()
	release := make(chan struct{})
	r.admit = func(stop <-chan struct{}) {
		select {
		case <-stop:
		case <-release:
		}
	}
	p, err := startFor(s, cmd, r)
	if err != nil {
		t.Fatal(err)
	}
	<-r.exited
	if got := len(r.text(Stdout)); got != 60000 {
		t.Errorf("%d bytes at exit, want 60000", got)
	}
	if err := p.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if got := r.history(); got != "stdout exited" {
		t.Errorf("events before release %q, want %q", got, "stdout exited")
	}
	close(release)
	<-r.closed
	if got := r.history(); got != "stdout exited stdout closed" {
		t.Errorf("events %q, want %q", got, "stdout exited stdout closed")
	}
}

// A background child that never stops writing can't put off the exit for ever.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("yes & exit 4"))
	<-r.exited
	p.Kill()
	<-r.closed
	if r.code != 4 {
		t.Errorf("exit code %d, want 4", r.code)
	}
}

// The wait without a pidfd, for old kernels.
func TestWaitWithoutPollableHandle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		script string
		want   int
	}{{"exit 7", 7}, {"kill -KILL $$", 137}} {
		c, err := forkExec("/bin/sh", []string{"sh", "-c", test.script}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}})
		if err != nil {
			t.Fatal(err)
		}
		c.release()
		c = child{pid: c.pid}
		end := c.wait()
		code, gone := end.code, end.gone
		if code != test.want {
			t.Errorf("%s: exit code %d, want %d", test.script, code, test.want)
		}
		if !gone {
			c.reap()
		}
		if code := c.wait().code; code != -1 {
			t.Errorf("%s: exit code of a reaped process %d, want -1", test.script, code)
		}
	}
}
