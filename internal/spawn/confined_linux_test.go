package spawn

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// isolated is a confinement that all of these tests can have: the whole host,
// read-only, and no network.
func isolated() *plan.Confinement {
	return &plan.Confinement{Isolated: true, Base: plan.ReadOnly, Offline: true}
}

// confinedBy returns cmd, confined.
func confinedBy(c *plan.Confinement, cmd *Command) *Command {
	cmd.Confinement = c
	return cmd
}

// needNamespaces skips a test where no namespaces can be had.
func needNamespaces(t testing.TB) {
	t.Helper()
	attr := &syscall.SysProcAttr{}
	isolate(attr, true)
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: attr})
	if err != nil {
		t.Skipf("no namespaces can be made here: %v", err)
	}
	_, _ = syscall.Wait4(pid, nil, 0, nil)
}

// eachConfinement runs a test with namespaces and without.
func eachConfinement(t *testing.T, test func(t *testing.T, s *Spawner, c *plan.Confinement)) {
	t.Helper()
	for name, c := range map[string]*plan.Confinement{"isolated": isolated(), "plain": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Isolated {
				needNamespaces(t)
			}
			test(t, newSpawner(t), c)
		})
	}
}

// succeeded fails the test if the set-up of a process has failed.
func succeeded(t testing.TB, p *Process) {
	t.Helper()
	if f := p.SetupFailure(); f != nil {
		t.Fatalf("the set-up has failed: %+v", *f)
	}
}

func TestConfinedOutput(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		for range 2 { // cold, and perhaps prepared
			cmd := confinedBy(c, shell("cat; echo $0 $X; echo err >&2; exit 7"))
			cmd.Argv = append(cmd.Argv, "zero")
			cmd.Env = append(slices.Clone(testEnv), "X=y")
			cmd.Stdin = true
			p, r := start(t, s, cmd)
			succeeded(t, p)
			if err := p.Write([]byte("in\n")); err != nil {
				t.Fatal(err)
			}
			p.CloseStdin()
			<-r.closed
			if out := r.text(Stdout); out != "in\nzero y\n" || r.text(Stderr) != "err\n" || r.code != 7 {
				t.Errorf("%q, %q, exit code %d", out, r.text(Stderr), r.code)
			}
			if p.Denials() != nil || p.Exceeded() != NotExceeded || p.Lingered() {
				t.Errorf("denials %v, exceeded %q, lingered %v", p.Denials(), p.Exceeded(), p.Lingered())
			}
		}
	})
}

// The helper is none of what a client sees as the tree, and what is started in
// there does not get our descriptors.
func TestConfinedNamespaces(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSpawner(t)
	out := output(t, s, confinedBy(isolated(), shell("echo /proc/[0-9]*; ls /proc/self/fd | wc -l; id -u; ls /sys/class/net")))
	lines := strings.Split(out, "\n")
	if len(lines) < 3 {
		t.Fatalf("%q", out)
	}
	if !strings.HasPrefix(lines[0], "/proc/1 /proc/") || strings.Count(lines[0], "/proc/") > 3 {
		t.Errorf("processes %s", lines[0])
	}
	if lines[1] != "4" || lines[2] != strconv.Itoa(os.Geteuid()) {
		t.Errorf("%q", out)
	}
}

func TestConfinedExitCodes(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		for _, test := range []struct {
			argv []string
			code int
			err  string
		}{
			{[]string{"true"}, 0, ""},
			{[]string{"/bin/sh", "-c", "kill -9 $$"}, 137, ""},
			{[]string{"/bin/sh", "-c", "kill -TERM $$"}, 143, ""},
			{[]string{"airlock-none"}, 127, "No such file or directory"},
			{[]string{"/etc/passwd"}, 126, "Permission denied"},
		} {
			p, r := start(t, s, confinedBy(c, &Command{Argv: test.argv, Dir: "/", Env: testEnv}))
			succeeded(t, p)
			<-r.closed
			if r.code != test.code || !strings.Contains(r.text(Stderr), test.err) {
				t.Errorf("%q: exit code %d, %q", test.argv, r.code, r.text(Stderr))
			}
		}
	})
}

// When the command has ended, what it has left behind is dead, streams and all.
func TestConfinedTreeEnds(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		cmd, f := tagged(t, "setsid sh -c 'echo ready; exec sleep 1000' & sleep 1000 & read x; exit 3")
		cmd.Stdin = true
		p, r := start(t, s, confinedBy(c, cmd))
		succeeded(t, p)
		r.await(t, Stdout, "ready")
		p.CloseStdin()
		<-r.closed
		f.expectNone(t)
		if r.code != 3 {
			t.Errorf("exit code %d", r.code)
		}
	})
}

func TestConfinedKill(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		cmd, f := tagged(t, "trap '' TERM; setsid sh -c 'echo ready; exec sleep 1000' & wait; wait")
		p, r := start(t, s, confinedBy(c, cmd))
		r.await(t, Stdout, "ready")
		p.Kill()
		<-r.closed
		f.expectNone(t)
		if r.code != 137 {
			t.Errorf("exit code %d", r.code)
		}
	})
}

// The command gets SIGTERM once, and its exit code is told.
func TestConfinedTerminate(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		p, r := start(t, s, confinedBy(c, shell("trap 'echo term; n=x$n' TERM; echo ready; while [ -z \"$n\" ]; do sleep 0.01; done; sleep 0.1; exit 5")))
		r.await(t, Stdout, "ready")
		killed, survivors := p.Terminate(t.Context(), time.Hour)
		<-r.closed
		if len(survivors) > 0 || !slices.Contains(killed, p.PID()) {
			t.Errorf("killed %v, survivors %v", killed, survivors)
		}
		if out := r.text(Stdout); out != "ready\nterm\n" || r.code != 5 {
			t.Errorf("%q, exit code %d", out, r.code)
		}
	})
}

func TestConfinedSignals(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		p, r := start(t, s, confinedBy(c, shell(
			"trap 'echo usr1' USR1; trap 'echo int; exit 9' INT; echo ready; while :; do sleep 0.01; done")))
		r.await(t, Stdout, "ready")
		send := func(sig Signal) {
			if delivered, err := p.Signal(sig); !delivered || err != nil {
				t.Errorf("SIG%s: %v, %v", sig, delivered, err)
			}
		}
		send(USR1)
		r.await(t, Stdout, "usr1")
		send(STOP)
		send(USR1)
		send(CONT)
		r.await(t, Stdout, "usr1\nusr1")
		send(INT)
		<-r.closed
		if r.code != 9 {
			t.Errorf("exit code %d", r.code)
		}
		if delivered, err := p.Signal(INT); delivered || err != nil {
			t.Errorf("after the end: %v, %v", delivered, err)
		}
	})
}

func TestConfinedTerminal(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		p, r := start(t, s, confinedBy(c, onTerminal(shell(
			"trap 'stty size' WINCH; trap 'echo ctrl-c; exit 4' INT; tty; echo ready; while :; do sleep 0.01; done"))))
		succeeded(t, p)
		r.await(t, Terminal, "ready")
		if err := p.Resize(Size{Rows: 50, Cols: 132}); err != nil {
			t.Fatal(err)
		}
		r.await(t, Terminal, "50 132")
		if err := p.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
		<-r.closed
		if r.code != 4 || !strings.Contains(r.text(Terminal), "ctrl-c") {
			t.Errorf("exit code %d, %q", r.code, r.text(Terminal))
		}
	})
}

// Limits hold inside, and it is told which one has ended the program.
func TestConfinedLimits(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		for _, test := range []struct {
			script string
			limits Limits
			want   Exceeded
			out    string
		}{
			{"ulimit -n", Limits{OpenFiles: 33}, NotExceeded, "33\n"},
			{"while :; do :; done", Limits{CPUSeconds: 1}, ExceededCPU, ""},
			{"cat /dev/zero | tail", Limits{MemoryBytes: 32 << 20}, ExceededMemory, ""},
			{"true & true & true & wait; (true | true | true | true) 2>&1 | grep -q . ; echo", Limits{Processes: 1000}, NotExceeded, "\n"},
		} {
			cmd := confinedBy(c, shell(test.script))
			cmd.Limits = test.limits
			r := newRecord()
			p, err := startFor(s, cmd, r)
			if failed, ok := errors.AsType[*Error](err); ok && failed.Kind == Unenforceable {
				t.Logf("not here: %v", err)
				continue
			}
			if err != nil {
				t.Error(err)
				continue
			}
			succeeded(t, p)
			<-r.closed
			if p.Exceeded() != test.want || r.text(Stdout) != test.out {
				t.Errorf("%s: exceeded %q, %q, %q, exit code %d", test.script, p.Exceeded(), r.text(Stdout), r.text(Stderr), r.code)
			}
		}
	})
}

// What a client could have known is an error of the start, as without confinement.
func TestConfinedStartErrors(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		for _, test := range []struct {
			change func(cmd *Command)
			kind   Kind
			text   string
		}{
			{func(cmd *Command) { cmd.Dir = "/none" }, NotFound, "No such file or directory (os error 2)"},
			{func(cmd *Command) { cmd.Dir = "/etc/passwd" }, Failed, "Not a directory (os error 20)"},
			{func(cmd *Command) { cmd.Argv = nil }, Failed, errNoProgramPipe.Error()},
			{func(cmd *Command) { cmd.Socket, cmd.Stdin = os.Stdin, true }, Failed, errSocket.Error()},
			{func(cmd *Command) { cmd.Confinement, cmd.Program = nil, os.Stdin }, Failed, errProgram.Error()},
		} {
			cmd := confinedBy(c, shell("true"))
			var cleaned atomic.Int32
			cmd.Cleanup = func() { cleaned.Add(1) }
			test.change(cmd)
			_, err := startFor(s, cmd, newRecord())
			failed, ok := errors.AsType[*Error](err)
			if !ok || failed.Kind != test.kind || failed.Error() != test.text {
				t.Errorf("error %v, want %s", err, test.text)
			}
			if cleaned.Load() != 1 {
				t.Errorf("%s: cleaned up %d times", test.text, cleaned.Load())
			}
		}
	})
}

// What is locked stays so until all that is confined is dead, and no program gets it.
func TestLifeline(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		file, err := os.CreateTemp(t.TempDir(), "lock")
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Fatal(err)
		}
		s.Lifeline(file)
		s.system.prepared.closed = true // those that wait hold it, too
		p, r := start(t, s, confinedBy(c, shell("ls -l /proc/self/fd; echo ready; exec sleep 1000")))
		r.await(t, Stdout, "ready")
		if out := r.text(Stdout); strings.Contains(out, "lock") {
			t.Errorf("the program has it:\n%s", out)
		}
		name := file.Name()
		s.system.lifeline.Store(nil)
		file.Close()
		again, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
			t.Errorf("the lock is gone: %v", err)
		}
		p.Kill()
		<-r.closed
		poll(t, "the lock is free", func() bool { return unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
	})
}

// What the confinement takes and can't be had is no error of the start: the process
// has ended, nothing was executed, and why is told.
func TestSetupFailure(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSpawner(t)
	c := isolated()
	c.Mounts = []plan.Mount{{Kind: plan.BindWritable, Path: "/airlock-none"}}
	marker := filepath.Join(t.TempDir(), "executed")
	cmd := confinedBy(c, shell("touch "+marker))
	var cleaned atomic.Int32
	cmd.Cleanup = func() { cleaned.Add(1) }
	p, r := start(t, s, cmd)
	f := p.SetupFailure()
	<-r.closed
	if f == nil || f.Stage != "mounts" || !strings.Contains(f.Message, "/airlock-none") {
		t.Errorf("failure %+v", f)
	}
	if r.code != setupFailed || r.text(Stdout)+r.text(Stderr) != "" || cleaned.Load() != 1 {
		t.Errorf("exit code %d, %q, cleaned up %d times", r.code, r.text(Stderr), cleaned.Load())
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command was executed")
	}
}

// A helper that is none, or dies, is a failure of the set-up.
func TestSetupFailureOfHelper(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	s.system.sandbox = func() (string, []string, error) { return "/bin/false", []string{"false"}, nil }
	p, r := start(t, s, confinedBy(&plan.Confinement{}, shell("true")))
	<-r.closed
	if f := p.SetupFailure(); f == nil || f.Stage != stageHelper || r.code != setupFailed {
		t.Errorf("%+v, exit code %d", f, r.code)
	}
	s.system.sandbox = func() (string, []string, error) { return "/none", nil, nil }
	if _, err := startFor(s, confinedBy(&plan.Confinement{}, shell("true")), newRecord()); err == nil {
		t.Error("a helper that is not there was no error")
	}
}

// The cleanup comes when all is dead, and before Closed.
func TestCleanup(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd, f := tagged(t, "sleep 1000 & echo ready; wait")
	r := newRecord()
	cmd.Cleanup = func() {
		f.expectNone(t)
		r.add("cleanup", func() {})
	}
	p, err := startFor(s, confinedBy(&plan.Confinement{}, cmd), r)
	if err != nil {
		t.Fatal(err)
	}
	r.await(t, Stdout, "ready")
	p.Kill()
	<-r.closed
	if n := len(r.events); n < 2 || !slices.Equal(r.events[n-2:], []string{"cleanup", "closed"}) {
		t.Errorf("events %q", r.events)
	}
}

// A worker: its program is an open file, its standard input a socket.
func TestProgramAndSocket(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		program, err := os.Open("/bin/cat")
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		defer ours.Close()
		cmd := confinedBy(c, &Command{Argv: []string{"worker"}, Dir: "/", Env: testEnv, Program: program, Socket: theirs})
		p, r := start(t, s, cmd)
		theirs.Close()
		succeeded(t, p)
		if _, err := ours.WriteString("hello"); err != nil {
			t.Fatal(err)
		}
		if err := unix.Shutdown(fds[0], unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		<-r.closed
		if r.text(Stdout) != "hello" || r.code != 0 {
			t.Errorf("%q, %q, exit code %d", r.text(Stdout), r.text(Stderr), r.code)
		}
		if _, err := io.ReadAll(ours); err != nil {
			t.Error(err)
		}
	})
}

// The sockets that a program finds on its loopback are ours.
func TestListeners(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSpawner(t)
	c := isolated()
	c.Listen = []uint16{8080, 8081}
	var got []net.Listener
	cmd := confinedBy(c, &Command{Argv: []string{"/bin/bash", "-c", "exec 5<>/dev/tcp/127.0.0.1/8081; cat <&5"}, Dir: "/", Env: testEnv})
	cmd.Listeners = func(files []*os.File) error {
		for _, f := range files {
			l, err := net.FileListener(f)
			f.Close()
			if err != nil {
				return err
			}
			got = append(got, l)
		}
		return nil
	}
	p, r := start(t, s, cmd)
	succeeded(t, p)
	if len(got) != 2 {
		t.Fatalf("%d listeners", len(got))
	}
	conn, err := got[1].Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "from outside")
	conn.Close()
	<-r.closed
	if r.text(Stdout) != "from outside" {
		t.Errorf("%q, %q", r.text(Stdout), r.text(Stderr))
	}
	for _, l := range got {
		l.Close()
	}

	cmd.Listeners = func(files []*os.File) error {
		for _, f := range files {
			f.Close()
		}
		return errors.New("no room")
	}
	p, r = start(t, s, cmd)
	<-r.closed
	if f := p.SetupFailure(); f == nil || !strings.Contains(f.Message, "no room") {
		t.Errorf("%+v", f)
	}
}

// Prepared helpers are used once, give the same results, skip those that have died,
// and are gone when the spawner has closed.
func TestPrepared(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := open()
	closed := false
	defer func() {
		if !closed {
			s.Close()
		}
	}()
	kind := kindOf(isolated())
	waiting := func() []*readyHelper {
		s.system.prepared.mu.Lock()
		pool := s.system.prepared.pools[kind]
		s.system.prepared.mu.Unlock()
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return slices.Clone(pool.ready)
	}
	output(t, s, confinedBy(isolated(), shell("true")))
	poll(t, "a helper is prepared", func() bool { return len(waiting()) > 0 })
	before := waiting()[0].child.pid
	p, r := start(t, s, confinedBy(isolated(), shell("echo prepared")))
	<-r.closed
	if p.PID() != before || r.text(Stdout) != "prepared\n" {
		t.Errorf("process %d, prepared was %d; %q, %+v", p.PID(), before, r.text(Stdout), p.SetupFailure())
	}
	poll(t, "another one is prepared", func() bool { return len(waiting()) > 0 && waiting()[0].child.pid != before })
	dead := waiting()[0]
	dead.child.kill()
	_, _ = dead.child.status(0)
	p, r = start(t, s, confinedBy(isolated(), shell("echo cold")))
	<-r.closed
	if p.PID() == dead.child.pid || r.text(Stdout) != "cold\n" || p.SetupFailure() != nil {
		t.Errorf("%q, %+v", r.text(Stdout), p.SetupFailure())
	}
	poll(t, "one more is prepared", func() bool { return len(waiting()) > 0 })
	left := waiting()
	s.Close()
	closed = true
	for _, h := range left {
		if err := syscall.Kill(h.child.pid, 0); err != syscall.ESRCH {
			t.Errorf("helper %d: %v", h.child.pid, err)
		}
	}
}

// A helper within a limit on processes does not count, nor does its memory.
func TestConfinedApart(t *testing.T) {
	t.Parallel()
	eachConfinement(t, func(t *testing.T, s *Spawner, c *plan.Confinement) {
		cmd := confinedBy(c, shell("echo ok"))
		cmd.Limits = Limits{Processes: 1}
		r := newRecord()
		p, err := startFor(s, cmd, r)
		if _, ok := errors.AsType[*Error](err); ok {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		<-r.closed
		if r.text(Stdout) != "ok\n" || p.SetupFailure() != nil {
			t.Errorf("%q, %q, %+v", r.text(Stdout), r.text(Stderr), p.SetupFailure())
		}
	})
}

// All means hold a confined process together.
func TestConfinedMeans(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for _, c := range []*plan.Confinement{isolated(), {}} {
			cmd, f := tagged(t, "setsid sh -c 'echo ready; exec sleep 1000' & wait")
			p, r := start(t, s, confinedBy(c, cmd))
			succeeded(t, p)
			r.await(t, Stdout, "ready")
			if u := Usages([]*Process{p})[0]; u.Processes < 2 {
				t.Errorf("%d processes", u.Processes)
			}
			p.Kill()
			<-r.closed
			f.expectNone(t)
		}
	})
}

// poll waits until something holds.
func poll(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}
