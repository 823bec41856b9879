//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// operatorTest is an executor with a control socket, and an agent that has started
// a process there.
type operatorTest struct {
	*testing.T
	server *server.Server
	socket string
	agent  client.Executor
}

func newOperatorTest(t *testing.T, tty bool, script string) *operatorTest {
	t.Helper()
	o := &operatorTest{T: t, server: server.New(server.Config{})}
	t.Cleanup(o.server.Close)
	l, err := o.server.ListenControl(server.ControlConfig{Path: filepath.Join(t.TempDir(), "d", "s")})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := l.Serve(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	o.socket = l.Path()
	o.agent, err = client.Connect(t.Context(), o.server, client.Options{Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.agent.Close() })
	_, err = o.agent.Start(t.Context(), &protocol.StartParams{
		ProcessID: "p", Argv: []string{"/bin/sh", "-c", script}, CWD: o.agent.Info().TempDir,
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, TTY: tty, PipeStdin: !tty,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// command is a command of ours that uses the control socket.
func (o *operatorTest) command(args ...string) *exec.Cmd {
	// TestMain has put this program on the PATH under that name.
	return exec.CommandContext(o.Context(), "airlock", append(args, "--control-socket", o.socket)...)
}

func (o *operatorTest) attach(args ...string) *exec.Cmd {
	return o.command(append([]string{"attach", o.agent.SessionID()[:6]}, args...)...)
}

// resumable asserts that the session waits for its agent, and returns that.
func (o *operatorTest) resumable() client.Executor {
	o.Helper()
	for {
		again, err := client.Connect(o.Context(), o.server, client.Options{ResumeSessionID: o.agent.SessionID()})
		if refusal, ok := errors.AsType[*protocol.Error](err); ok && refusal.Code == protocol.CodeSessionAttached {
			continue // it has not been noticed yet
		}
		if err != nil {
			o.Fatal(err)
		}
		o.Cleanup(func() { _ = again.Close() })
		return again
	}
}

// screen is a terminal that a command of ours runs in.
type screen struct {
	*testing.T
	keyboard *os.File
	shows    *bufio.Reader
	cmd      *exec.Cmd
	before   *term.State
	name     string // of the terminal
}

func (o *operatorTest) inTerminal(cmd *exec.Cmd, rows, cols uint16) *screen {
	o.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { master.Close() })
	defer slave.Close()
	s := &screen{T: o.T, keyboard: master, shows: bufio.NewReader(master), cmd: cmd, name: slave.Name()}
	s.resize(rows, cols)
	if s.before, err = term.GetState(int(master.Fd())); err != nil {
		o.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		o.Fatal(err)
	}
	return s
}

func (s *screen) resize(rows, cols uint16) {
	s.Helper()
	if err := pty.Setsize(s.keyboard, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		s.Fatal(err)
	}
}

// await reads up to a line that contains a text.
func (s *screen) await(text string) {
	s.Helper()
	for {
		line, err := s.shows.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			s.Fatalf("the screen ends with %q before it shows %q: %v", line, text, err)
		}
	}
}

func (s *screen) press(keys string) {
	s.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// end waits for the command and asserts that the terminal is as before.
func (s *screen) end(status int) {
	s.Helper()
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.Errorf("exit status %d, want %d", got, status)
	}
	after, err := term.GetState(int(s.keyboard.Fd()))
	if err != nil {
		s.Fatal(err)
	}
	if *after != *s.before {
		s.Errorf("the terminal is not as before: %+v, want %+v", *after, *s.before)
	}
}

// loop says what it reads, and the size of its terminal, until told to end.
const loop = `stty -echo; echo ready
while read line; do echo "got $line"; stty size; [ "$line" = end ] && exit 4; done`

// TestAttachTakeover: with the terminal of its own that the process has one works
// as with this one; and who has had enough leaves it as it was.
func TestAttachTakeover(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, true, loop)
	if event, err := o.agent.Process("p").Next(t.Context()); err != nil || string(event.Data) != "ready\r\n" {
		t.Fatal(event, err)
	}
	s := o.inTerminal(o.attach("--takeover"), 30, 100)
	s.await("has been taken from agent; Ctrl-P Ctrl-Q detaches")
	s.press("abc\x7f\x10d\r") // its terminal takes the c back; Ctrl-P is a key like others
	s.await("got ab\x10d")
	s.await("30 100")
	s.resize(40, 120)
	for size := ""; size != "40 120"; { // when the change has come through
		s.press("size\r")
		s.await("got size")
		line, err := s.shows.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		size = strings.TrimSpace(line)
	}
	if _, err := o.agent.Process("p").Next(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("the agent learns %v", err)
	}
	s.press("\x10\x11")
	s.await("airlock: detached: session")
	s.end(0)

	again := o.resumable()
	if err := again.Process("p").Write(t.Context(), []byte("end\n")); err != nil {
		t.Fatal(err)
	}
	if code, err := again.Process("p").Wait(t.Context()); err != nil || code != 4 {
		t.Errorf("its exit code is %d, %v", code, err)
	}
}

func TestAttachTakeoverEnds(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, true, loop)
	s := o.inTerminal(o.attach("--takeover", "--from", "1"), 24, 80)
	s.await("ready")
	s.press("end\r")
	s.await("got end")
	s.end(4)

	o = newOperatorTest(t, true, loop)
	s = o.inTerminal(o.attach("--takeover", "--from", "1"), 24, 80)
	s.await("ready")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.end(exitSignal + int(syscall.SIGTERM))
	o.resumable()

	// Who takes it back has it.
	o = newOperatorTest(t, true, loop)
	s = o.inTerminal(o.attach("--takeover", "--from", "1"), 24, 80)
	s.await("ready")
	again, err := client.Connect(t.Context(), o.server, client.Options{ResumeSessionID: o.agent.SessionID(), Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	s.await("another client has taken the session over")
	s.end(exitRunFailed)

	// And if the executor ends, so do we.
	o = newOperatorTest(t, true, loop)
	s = o.inTerminal(o.attach("--takeover", "--from", "1"), 24, 80)
	s.await("ready")
	o.server.Close()
	s.await("the executor has been closed")
	s.end(exitRunFailed)
}

// TestAttachInterrupt: Ctrl-C ends only ourselves.
func TestAttachInterrupt(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, true, loop)
	s := o.inTerminal(o.attach(), 24, 80)
	s.await("ready")
	s.press("typed\r\x03")
	s.end(exitSignal + int(syscall.SIGINT))
	p := o.agent.Process("p")
	if err := p.Write(t.Context(), []byte("end\n")); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 4 {
		t.Errorf("its exit code is %d, %v", code, err)
	}
}

// TestAttachTakeoverPipe: without a terminal the standard input goes to that of the
// process, its end as well, unless there is none.
func TestAttachTakeoverPipe(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, false, "cat; echo end >&2; exit 5")
	cmd := o.attach("--takeover")
	cmd.Stdin = strings.NewReader("some lines\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("it ends with %v", err)
	}
	if stdout.String() != "some lines\n" || !strings.HasSuffix(stderr.String(), "\nend\n") ||
		!strings.Contains(stderr.String(), "has been taken from agent; Ctrl-C detaches") {
		t.Errorf("it says %q, and %q", stdout.String(), stderr.String())
	}

	o = newOperatorTest(t, false, "echo ready; read line; echo got $line")
	cmd = o.attach("--takeover") // with nothing to read
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	again := o.resumable()
	p := again.Process("p")
	if err := p.Write(t.Context(), []byte("it\n")); err != nil {
		t.Fatal(err) // its input is still open
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 0 {
		t.Errorf("its exit code is %d, %v", code, err)
	}
}

// TestTopLive: the table has a screen of its own, follows the size of the terminal,
// and is gone when it has been quit.
func TestTopLive(t *testing.T) {
	t.Parallel()
	for name, quit := range map[string]func(s *screen){
		"q":      func(s *screen) { s.press("q") },
		"Ctrl-C": func(s *screen) { s.press("\x03") },
		"signal": func(s *screen) { _ = s.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperatorTest(t, true, loop)
			s := o.inTerminal(o.command("top", "--interval", "100ms"), 24, 80)
			s.await(ownScreen + upperLeft + "1 executor, 1 session (1 attached), 1 process: ")
			s.await("COMMAND")
			s.await(" agent   p ")
			s.resize(24, 20)
			s.await("1 executor, 1 sessi…" + clearLine)
			quit(s)
			rest, _ := io.ReadAll(s.shows) // up to the end, which is an error for some terminals
			if !strings.HasSuffix(string(rest), formerScreen) {
				t.Errorf("the last that the terminal gets is %q", rest)
			}
			s.end(0)
		})
	}
}
