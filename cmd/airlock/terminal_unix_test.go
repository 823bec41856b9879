//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// terminalSession is `airlock run -t` in a terminal.
type terminalSession struct {
	t        *testing.T
	keyboard *os.File
	screen   *bufio.Reader
	cmd      *exec.Cmd
	before   *term.State
}

func startInTerminal(t *testing.T, command ...string) *terminalSession {
	t.Helper()
	return startInTerminalOf(t, nil, command...)
}

// startInTerminalOf is for a terminal that has a size.
func startInTerminalOf(t *testing.T, size *pty.Winsize, command ...string) *terminalSession {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	defer slave.Close()
	if size != nil {
		if err := pty.Setsize(master, size); err != nil {
			t.Fatal(err)
		}
	}
	before, err := term.GetState(int(master.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	// TestMain has put this program on the PATH under that name.
	cmd := exec.CommandContext(t.Context(), "airlock", append([]string{"run", "-t", "--"}, command...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &terminalSession{t, master, bufio.NewReader(master), cmd, before}
}

// await reads the screen up to a line that contains a text.
func (s *terminalSession) await(text string) {
	s.t.Helper()
	for {
		line, err := s.screen.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			s.t.Fatalf("the screen ends with %q before it shows %q: %v", line, text, err)
		}
	}
}

func (s *terminalSession) press(keys string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the program and asserts that the terminal is as before.
func (s *terminalSession) end(status int) {
	s.t.Helper()
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.t.Errorf("exit status %d, want %d", got, status)
	}
	after, err := term.GetState(int(s.keyboard.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	if *after != *s.before {
		s.t.Errorf("the terminal is not as before: %+v, want %+v", *after, *s.before)
	}
}

func TestRunTerminal(t *testing.T) {
	t.Parallel()
	s := startInTerminal(t, "sh", "-c", "tty; stty size; echo ready; read line; echo got $line; exit 4")
	s.await("/dev/")
	s.await("24 80")
	s.await("ready")
	s.press("abc\x7fd\r") // edited by the command's terminal, not by ours
	s.await("got abd")
	s.end(4)
}

// TestRunTerminalSize: the command's terminal has the size of ours from the start,
// and follows it.
func TestRunTerminalSize(t *testing.T) {
	t.Parallel()
	s := startInTerminalOf(t, &pty.Winsize{Rows: 31, Cols: 97}, "sh", "-c",
		"trap 'stty size' WINCH; stty size; echo ready; while :; do sleep 0.05; done")
	s.await("31 97")
	s.await("ready")
	for _, size := range []pty.Winsize{{Rows: 40, Cols: 97}, {Rows: 1, Cols: 1}, {Rows: 65535, Cols: 65535}} {
		if err := pty.Setsize(s.keyboard, &size); err != nil {
			t.Fatal(err)
		}
		s.await(fmt.Sprintf("%d %d", size.Rows, size.Cols))
	}
	s.press("\x03")
	s.end(exitSignal + int(syscall.SIGINT))
}

// TestRunTerminalContinued: who goes on has the command draw its screen anew, also
// if the size is as before.
func TestRunTerminalContinued(t *testing.T) {
	t.Parallel()
	s := startInTerminalOf(t, &pty.Winsize{Rows: 31, Cols: 97}, "sh", "-c",
		"trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
	s.await("ready")
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.await("31 97")
	s.press("\x03")
	s.end(exitSignal + int(syscall.SIGINT))
}

// TestRunTerminalPaste: what is pasted gets to the command whole, though the
// command answers at the same time and nobody reads that before all is pasted.
func TestRunTerminalPaste(t *testing.T) {
	t.Parallel()
	const length = 1 << 20
	s := startInTerminal(t, "sh", "-c", "stty raw -echo; echo ready; head -c 1048576 | tee copy; "+
		"printf '\\n'; cksum <copy; rm copy; echo end")
	s.await("ready")
	paste := make([]byte, length)
	for i := range paste {
		paste[i] = "0123456789abcdefghijklmnopqrstuvwxyz\x03\x04\x11\x13\x1a\r\x7f"[i*i%43]
	}
	pasted := make(chan error, 1)
	go func() {
		_, err := s.keyboard.Write(paste)
		pasted <- err
	}()
	echo := make([]byte, length)
	if _, err := io.ReadFull(s.screen, echo); err != nil {
		t.Fatal(err)
	}
	if err := <-pasted; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(echo, paste) {
		t.Error("the command has not got what was pasted")
	}
	s.await(" 1048576")
	s.await("end")
	s.end(0)
}

// TestRunTerminalUndone: what a command that is killed has made of the screen is
// undone; what one that ends by itself leaves stays.
func TestRunTerminalUndone(t *testing.T) {
	t.Parallel()
	const set = `printf '\033[?1049h\033[?1000h\033[?25l\n'; `
	s := startInTerminal(t, "sh", "-c", set+"kill -KILL $$")
	s.await("\x1b[?25l")
	rest, _ := io.ReadAll(s.screen)
	if want := "\x1b[?25h\x1b[?1000l\x1b[?1049l"; string(rest) != want {
		t.Errorf("behind it comes %q, want %q", rest, want)
	}
	s.end(exitSignal + int(syscall.SIGKILL))

	s = startInTerminal(t, "sh", "-c", set)
	s.await("\x1b[?25l")
	if rest, _ := io.ReadAll(s.screen); len(rest) > 0 {
		t.Errorf("behind it comes %q", rest)
	}
	s.end(0)
}

// TestRunTerminalPanic: a fault of ours does not leave the user with a terminal
// that shows nothing.
func TestRunTerminalPanic(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(&runCommand{})
	if err := r.terminal.open(slave, slave); err != nil {
		t.Fatal(err)
	}
	if err := r.terminal.take(); err != nil {
		t.Fatal(err)
	}
	if taken, err := term.GetState(int(slave.Fd())); err != nil || *taken == *before {
		t.Fatalf("the terminal has not been taken: %v", err)
	}
	func() {
		defer func() {
			if recover() != "fault" {
				t.Error("the panic is gone")
			}
		}()
		r.guarded(func() { panic("fault") })
	}()
	if after, err := term.GetState(int(slave.Fd())); err != nil || *after != *before {
		t.Errorf("the terminal is not as before: %+v, want %+v (%v)", *after, *before, err)
	}
	if err := r.terminal.take(); err != nil || r.terminal.mode != restored {
		t.Errorf("the terminal is taken again: %v", err)
	}
}

// TestRunTerminalHeldBack: what the command says while the user has the terminal is
// shown when the command has it again. An editor's last words before a stop came
// out on the shell's screen when it went on, and moved the cursor there.
func TestRunTerminalHeldBack(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	var own terminal
	if err := own.open(slave, slave); err != nil {
		t.Fatal(err)
	}
	own.screen = os.Stdout // of which nothing is written here
	mode := func() terminalMode {
		own.mu.Lock()
		defer own.mu.Unlock()
		return own.mode
	}
	for range 100 {
		if err := own.take(); err != nil {
			t.Fatal(err)
		}
		own.give()
		shown := make(chan error, 1)
		go func() {
			shown <- own.show(t.Context(), []byte("late"), func() error {
				if m := mode(); m != taken {
					return fmt.Errorf("it is written in mode %d", m)
				}
				return nil
			})
		}()
		runtime.Gosched()
		if err := own.takeAgain(); err != nil {
			t.Fatal(err)
		}
		if err := <-shown; err != nil {
			t.Fatal(err)
		}
	}
	own.restore()
	if after := mode(); after != restored {
		t.Errorf("it ends in mode %d", after)
	}
}

// TestRunTerminalGoodbye: a shell with a terminal does not care about SIGTERM, and
// gets a hangup when we do.
func TestRunTerminalGoodbye(t *testing.T) {
	t.Parallel()
	s := startInTerminal(t, "sh", "-c", "trap '' TERM; trap 'echo goodbye; exit 0' HUP; echo ready; while :; do sleep 0.05; done")
	s.await("ready")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await("goodbye")
	s.end(exitSignal + int(syscall.SIGHUP))
}

// TestRunTerminalInterrupt asserts that Ctrl-C is a key like others to us, and
// an interrupt to the command.
func TestRunTerminalInterrupt(t *testing.T) {
	t.Parallel()
	s := startInTerminal(t, "sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done")
	s.await("ready")
	s.press("\x03")
	s.await("caught")
	s.end(9)
}

func TestRunTerminalEnd(t *testing.T) {
	t.Parallel()
	s := startInTerminal(t, "sh", "-c", "echo ready; cat; echo end")
	s.await("ready")
	s.press("\x04")
	s.await("end")
	s.end(0)
}

// TestRunTerminalRestored asserts that the terminal is put back when the end
// comes from outside, and when there was no beginning.
func TestRunTerminalRestored(t *testing.T) {
	t.Parallel()
	s := startInTerminal(t, "sh", "-c", "echo ready; exec sleep 1000")
	s.await("ready")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.end(exitSignal + int(syscall.SIGTERM))

	s = startInTerminal(t, "no-such-command")
	s.await("airlock: cannot start \"no-such-command\" in ")
	s.end(exitNotFound)
}
