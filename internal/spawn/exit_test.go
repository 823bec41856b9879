//go:build unix

package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	p, err := s.Start(cmd, r)
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
		code, gone := c.wait()
		if code != test.want {
			t.Errorf("%s: exit code %d, want %d", test.script, code, test.want)
		}
		if !gone {
			c.reap()
		}
		if code, _ := c.wait(); code != -1 {
			t.Errorf("%s: exit code of a reaped process %d, want -1", test.script, code)
		}
	}
}

// Everybody does everything to processes that come to their end.
func TestStress(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 100000), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts := []string{"exit 3", "cat file", "cat", "sleep 1000", "(sleep 1000) & echo x", "kill $$"}
	var all sync.WaitGroup
	for i := range 120 {
		all.Go(func() {
			cmd := shell(scripts[i%len(scripts)])
			cmd.Dir = dir
			cmd.Stdin = true
			if i%2 == 0 {
				onTerminal(cmd)
			}
			p, r := start(t, s, cmd)
			var users sync.WaitGroup
			users.Go(func() {
				for p.Write(make([]byte, 10000)) == nil {
				}
			})
			users.Go(func() {
				for range 5 {
					_ = p.Interrupt()
				}
				p.Kill()
				_ = p.Interrupt()
				p.Kill()
			})
			users.Go(p.CloseStdin)
			<-r.closed
			users.Wait()
			p.Kill()
			if err := p.Interrupt(); err != nil {
				t.Errorf("Interrupt after Closed: %v", err)
			}
		})
	}
	all.Wait()
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := New()
	var records []*record
	for range 5 {
		_, r := start(t, s, shell("sleep 1000"))
		records = append(records, r)
	}
	s.Close()
	for _, r := range records {
		if got := r.history(); got != "exited closed" || r.code != 137 {
			t.Errorf("events %q, exit code %d; want %q, 137", got, r.code, "exited closed")
		}
	}
	_, err := s.Start(shell("true"), newRecord())
	if e, ok := err.(*Error); !ok || e.Kind != Failed {
		t.Errorf("Start after Close: %v, want an error of kind Failed", err)
	}
	s.Close()
}

// Close and Start at the same time.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := New()
		var starts sync.WaitGroup
		for range 4 {
			starts.Go(func() {
				r := newRecord()
				if _, err := s.Start(shell("sleep 1000"), r); err == nil {
					<-r.closed
				}
			})
		}
		s.Close()
		starts.Wait()
	}
}
