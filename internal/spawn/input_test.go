//go:build unix

package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStdin(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := &Command{Argv: []string{"/bin/cat"}, Dir: "/", Stdin: true}
	p, r := start(t, s, cmd)
	for _, text := range []string{"hello\n", "", "world\n"} {
		if err := p.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	r.await(t, Stdout, "hello\nworld\n")
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := p.Write(big); err != nil {
		t.Fatal(err)
	}
	p.CloseStdin()
	<-r.closed
	if got := r.text(Stdout); got != "hello\nworld\n"+string(big) {
		t.Errorf("%d bytes came back, want %d", len(got), len(big)+12)
	}
	if r.code != 0 {
		t.Errorf("exit code %d, want 0", r.code)
	}
	if err := p.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after the end: %v, want os.ErrClosed", err)
	}
}

func TestNoStdin(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, &Command{Argv: []string{"/bin/cat"}, Dir: "/"})
	if err := p.Write([]byte("x")); err == nil {
		t.Error("Write without standard input: no error")
	}
	p.CloseStdin()
	<-r.closed
	if r.code != 0 {
		t.Errorf("exit code %d, want 0: standard input is not empty", r.code)
	}
}

func TestWriteToClosedStdin(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := shell("exec <&-; echo ready; sleep 1000")
	cmd.Stdin = true
	p, r := start(t, s, cmd)
	r.await(t, Stdout, "ready")
	// A child of another test that has been forked and not yet executed holds
	// copies of all our descriptors, of this pipe too.
	err := p.Write([]byte("x"))
	for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); {
		err = p.Write([]byte("x"))
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write: %v, want EPIPE", err)
	}
	p.Kill()
	<-r.closed
}

// A write that nobody reads ends when its process does, or when it is told to.
func TestBlockedWrite(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	endings := map[string]func(*Process){
		"Kill":       (*Process).Kill,
		"CloseStdin": (*Process).CloseStdin,
		"exit":       func(p *Process) { _ = syscall.Kill(p.PID(), syscall.SIGTERM) },
	}
	for name, end := range endings {
		for _, tty := range []bool{false, true} {
			if tty && name == "CloseStdin" {
				continue
			}
			t.Run(fmt.Sprintf("%s/tty=%v", name, tty), func(t *testing.T) {
				cmd := shell("exec sleep 1000")
				cmd.Stdin = true
				stream := Stdout
				if tty {
					cmd = onTerminal(shell("stty raw -echo; echo ready; exec sleep 1000"))
					stream = Terminal
				}
				p, r := start(t, s, cmd)
				if tty {
					r.await(t, stream, "ready")
				}
				started, result := make(chan struct{}), make(chan error)
				go func() {
					err := p.Write([]byte("x"))
					close(started)
					for err == nil {
						err = p.Write(make([]byte, 1<<20))
					}
					result <- err
				}()
				<-started
				end(p)
				if err := <-result; err == nil {
					t.Error("no error")
				}
				p.Kill()
				<-r.closed
			})
		}
	}
}

// Standard input stays open for those who are left when the leader has exited.
func TestStdinOutlivesLeader(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := shell("exec 3<&0; cat <&3 & exit 0")
	cmd.Stdin = true
	p, r := start(t, s, cmd)
	<-r.exited
	if err := p.Write([]byte("still there")); err != nil {
		t.Fatal(err)
	}
	r.await(t, Stdout, "still there")
	p.CloseStdin()
	<-r.closed
	if got := r.history(); got != "exited stdout closed" {
		t.Errorf("events %q, want %q", got, "exited stdout closed")
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, onTerminal(&Command{Argv: []string{"/bin/cat"}, Dir: "/"}))
	if err := p.Write([]byte("abc\n")); err != nil {
		t.Fatal(err)
	}
	r.await(t, Terminal, "abc\r\nabc\r\n") // the echo, and what cat writes
	p.CloseStdin()                         // to no effect
	if err := p.Write([]byte("\x04")); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	if r.code != 0 {
		t.Errorf("exit code %d, want 0", r.code)
	}
	if got := r.history(); got != "terminal exited closed" {
		t.Errorf("events %q, want %q", got, "terminal exited closed")
	}
	if err := p.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after the end: %v, want os.ErrClosed", err)
	}
}

func TestTerminalInterruptCharacter(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, onTerminal(&Command{Argv: []string{"/bin/sleep", "1000"}, Dir: "/"}))
	if err := p.Write([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	if r.code != 130 {
		t.Errorf("exit code %d, want 130", r.code)
	}
	if got := r.text(Terminal); got != "^C" {
		t.Errorf("output %q, want ^C", got)
	}
}

func TestTerminalSettings(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	cmd := onTerminal(&Command{Argv: []string{"stty", "-a"}, Dir: "/", Env: testEnv})
	cmd.TTY = &Size{Rows: 33, Cols: 111}
	got := output(t, s, cmd)
	settings := strings.FieldsFunc(got, func(c rune) bool { return c == ';' || c == ' ' || c == '\r' || c == '\n' })
	have := " " + strings.Join(settings, " ") + " "
	for _, want := range []string{"rows 33", "columns 111", "echo", "icanon", "onlcr", "ixon", "isig", "-iutf8", "opost", "icrnl"} {
		if !strings.Contains(have, " "+want+" ") {
			t.Errorf("terminal settings lack %q: %s", want, got)
		}
	}
}

// All of a large input passes through the small queues of a terminal.
func TestTerminalLargeInput(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, onTerminal(shell("stty raw -echo; echo ready; head -c 500000 | cksum")))
	r.await(t, Terminal, "ready")
	input := bytes.Repeat([]byte("0123456789"), 50_000)
	if err := p.Write(input); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	plain := shell("cksum")
	plain.Stdin = true
	p2, r2 := start(t, s, plain)
	if err := p2.Write(input); err != nil {
		t.Fatal(err)
	}
	p2.CloseStdin()
	<-r2.closed
	if got, want := r.text(Terminal), r2.text(Stdout); !strings.HasSuffix(got, want) {
		t.Errorf("output %q, want checksum %q", got, want)
	}
}

// All output of a terminal arrives before its exit, and its end is no error.
func TestTerminalLastWords(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for range 100 {
		_, r := start(t, s, onTerminal(shell("stty raw; head -c 20000 /dev/zero; exit 4")))
		<-r.exited
		if got := len(r.text(Terminal)); got != 20000 || r.code != 4 {
			t.Fatalf("%d bytes at exit, code %d; want 20000, 4", got, r.code)
		}
		<-r.closed
	}
}

// The leader's exit hangs up the terminal. A background child that survives
// that has lost it.
func TestTerminalLeaderExits(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for range 20 {
		p, r := start(t, s, onTerminal(shell("trap '' HUP; sleep 1000 & echo hi; exit 3")))
		<-r.exited
		if got := r.text(Terminal); got != "hi\r\n" || r.code != 3 {
			t.Fatalf("output %q at exit, code %d; want %q, 3", got, r.code, "hi\r\n")
		}
		p.Kill()
		<-r.closed
	}
}

// A program that closes its terminal and runs on is not hung up for it.
func TestTerminalClosedByLeader(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	cmd := onTerminal(shell("exec <fifo >/dev/null 2>&1; read x; exit 5"))
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	_, r := start(t, s, cmd)
	f, err := os.OpenFile(dir+"/fifo", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	<-r.closed
	if r.code != 5 {
		t.Errorf("exit code %d, want 5", r.code)
	}
}
