//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// rest returns what the screen shows until the command has ended.
func (s *screen) rest() string {
	s.Helper()
	text, _ := io.ReadAll(s.shows) // up to the end, which is an error for some terminals
	return string(text)
}

// TestAttachWatch: what a program makes of a terminal is undone when we have seen
// enough, and what the terminal answers to it is nobody's input.
func TestAttachWatch(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, true, `printf '\033[?1049h\033[?1000h\033[c'; `+loop)
	s := o.inTerminal(o.attach(), 24, 80)
	tty, err := os.OpenFile(s.name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.await("\x1b[?1049h\x1b[?1000h\x1b[cready")
	s.press("some keys\r\x03")
	asked := make([]byte, len(askTerminal))
	if _, err := io.ReadFull(s.shows, asked); err != nil || string(asked) != askTerminal {
		t.Errorf("in the end the terminal is asked %q, %v", asked, err)
	}
	s.press("\x1b[?62;1;4c" + terminalAnswer) // late, and in order
	s.end(exitSignal + int(syscall.SIGINT))
	fd := int(tty.Fd()) // once: it makes reads wait
	if _, err := term.MakeRaw(fd); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	left := make([]byte, 100)
	if n, err := unix.Read(fd, left); err != unix.EAGAIN {
		t.Errorf("%q is left to the shell, %v", left[:max(n, 0)], err)
	}
	tty.Close()
	if got := s.rest(); got != "\x1b[?1000l\x1b[?1049l" {
		t.Errorf("in the end the terminal gets %q", got)
	}

	p := o.agent.Process("p")
	if err := p.Write(t.Context(), []byte("end\n")); err != nil {
		t.Fatal(err)
	}
	event, err := p.Next(t.Context())
	for err == nil && !strings.Contains(string(event.Data), "got") {
		event, err = p.Next(t.Context())
	}
	if err != nil || !strings.HasPrefix(string(event.Data), "got end") {
		t.Errorf("the process has read %q, %v", event.Data, err)
	}
}

// TestAttachWatchEnds: a program that has been killed has not put the terminal in
// order; one that has ended by itself has left it as it wants it.
func TestAttachWatchEnds(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`kill -9 $$`: "\x1b[?1049lEND",
		`exit 3`:     "END",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			o := newOperatorTest(t, true, `printf '\033[?1049h\n'; `+script)
			s := o.inTerminal(o.attach(), 24, 80)
			s.await("\x1b[?1049h")
			got := strings.ReplaceAll(s.rest(), askTerminal, "") + "END"
			if got != want {
				t.Errorf("the terminal gets %q, want %q", got, want)
			}
		})
	}
}

// TestDetachBelow: what we say stands below what the program shows, and comes once
// the terminal is as usual.
func TestDetachBelow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ output, want string }{
		"nothing":      {"", ""},
		"in a line":    {"some text", "\r\n"},
		"on a screen":  {`\033[2;3Hsome text`, "\x1b[999;1H\r\n"},
		"other screen": {`\033[?1049h\033[2;3Hsome text`, "\x1b[?1049l"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperatorTest(t, true, `stty -echo; echo ready; printf '`+test.output+`'; exec cat`)
			s := o.inTerminal(o.attach("--takeover", "--from", "1"), 24, 80)
			s.await("ready")
			output := strings.ReplaceAll(test.output, `\033`, "\x1b")
			if _, err := io.ReadFull(s.shows, make([]byte, len(output))); err != nil {
				t.Fatal(err)
			}
			s.press("\x10\x11")
			// The terminal makes one of each end of a line, too.
			if got := strings.ReplaceAll(s.rest(), "\r\r\n", "\r\n"); !strings.HasPrefix(got, test.want+"airlock: detached: session ") {
				t.Errorf("the terminal gets %q", got)
			}
			s.end(0)
		})
	}
}

// TestOperateAll: executors are asked at the same time, so that those that hang take
// no longer together than one; and what hangs is told in plain words.
func TestOperateAll(t *testing.T) {
	t.Parallel()
	var sockets []string
	var listeners []net.Listener
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		listeners, sockets = append(listeners, l), append(sockets, l.Addr().String())
	}
	var serving sync.WaitGroup
	both := make(chan struct{}, 2)
	for _, l := range listeners {
		serving.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			both <- struct{}{}
			for len(both) < cap(both) && t.Context().Err() == nil {
				<-time.After(time.Millisecond)
			}
			conn.Close()
		})
	}
	all, faults := operateAll(t.Context(), sockets)
	if len(all) != 0 || len(faults) != 2 {
		t.Fatal(all, faults)
	}
	for i, err := range faults {
		if !strings.HasPrefix(err.Error(), "asking the executor at "+sockets[i]) || strings.Contains(err.Error(), "does not answer") {
			t.Errorf("number %d: %v", i, err)
		}
	}
	serving.Wait()

	serving.Go(func() {
		if conn, err := listeners[0].Accept(); err == nil {
			defer conn.Close()
			_, _ = io.Copy(io.Discard, conn) // and answers nothing
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := operate(ctx, sockets[0])
	if want := "the executor at " + sockets[0] + " does not answer within 10s: it hangs, or is stopped"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	serving.Wait()
}

// TestRunTerminalBelow: so does what `airlock run -t` says when the command has not
// ended by itself.
func TestRunTerminalBelow(t *testing.T) {
	t.Parallel()
	o := newOperatorTest(t, true, loop) // of which only the terminal is used
	s := o.inTerminal(exec.CommandContext(t.Context(), "airlock", "run", "-t", "--timeout", "300ms", "--",
		"sh", "-c", `printf '\033[?1049h\033[?1049lsome text'; exec sleep 1000`), 24, 80)
	got := strings.ReplaceAll(s.rest(), "\r\r\n", "\r\n")
	if !strings.HasSuffix(got, "some text\r\nairlock: the command was killed: it had not ended after 300ms (--timeout)\r\n") {
		t.Errorf("the terminal gets %q", got)
	}
	s.end(exitTimeout)
}
