//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
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
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	defer slave.Close()
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
