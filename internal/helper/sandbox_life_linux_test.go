package helper

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// both are a confinement with namespaces and one without: what follows holds for
// either.
func both(t *testing.T, test func(t *testing.T, c func() *plan.Confinement)) {
	t.Helper()
	t.Run("namespaces", func(t *testing.T) {
		t.Parallel()
		canIsolate(t)
		test(t, readOnly)
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		test(t, func() *plan.Confinement { return &plan.Confinement{} })
	})
}

// limited has the program executed by the second stage.
func limited(p *plan.Plan) *plan.Plan {
	p.Rlimits = []plan.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 200, Hard: 201}}
	return p
}

func TestSandboxEnds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		for _, test := range []struct {
			path, text string
			want       plan.End
			output     string
		}{
			{"sh", "exit 0", plan.End{}, ""},
			{"/bin/sh", "echo $0; exit 42", plan.End{Code: 42}, "sh\n"},
			{"sh", "kill -KILL $$", plan.End{Code: 137, Signal: 9}, ""},
			{"sh", "kill -TERM $$", plan.End{Code: 143, Signal: 15}, ""},
			{"no-such-program", "", plan.End{Code: 127}, "airlock: no-such-program: No such file or directory\n"},
			{"/no/such/program", "", plan.End{Code: 127}, "airlock: /no/such/program: No such file or directory\n"},
			{"/etc/passwd", "", plan.End{Code: 126}, "airlock: /etc/passwd: Permission denied\n"},
			{"/etc/passwd/x", "", plan.End{Code: 127}, "airlock: /etc/passwd/x: Not a directory\n"},
			{"/tmp", "", plan.End{Code: 126}, "airlock: /tmp: Permission denied\n"},
		} {
			for _, change := range []func(*plan.Plan) *plan.Plan{func(p *plan.Plan) *plan.Plan { return p }, limited} {
				p := script(c(), test.text)
				p.Path = test.path
				if end, out := begin(t, change(p)).end(); end != test.want || out != test.output {
					t.Errorf("%s: %+v, %q; want %+v, %q", test.path, end, out, test.want, test.output)
				}
			}
		}
	})
}

// A program is looked for on its own PATH, as seen from inside, relative to where
// it starts.
func TestSandboxSearch(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		dir := t.TempDir()
		write := func(name, text string, mode os.FileMode) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		write("a/tool", "#!/bin/sh\necho a\n", 0o600)
		write("b/tool", "#!/bin/sh\necho b\n", 0o700)
		write("tool", "#!/bin/sh\necho here\n", 0o700)
		write("shut/tool", "#!/bin/sh\necho shut\n", 0o700)
		shut := filepath.Join(dir, "shut")
		if err := os.Chmod(shut, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(shut, 0o700) }() // so that it can be removed
		for path, want := range map[string]string{
			dir + "/a:" + dir + "/b": "b\n",
			dir + "/gone:b":          "b\n",
			":/usr/bin":              "here\n",
			dir + "/a:/usr/bin":      "airlock: tool: Permission denied\n",
			dir + "/shut:/usr/bin":   "airlock: tool: No such file or directory\n",
			dir + "/shut":            "airlock: tool: No such file or directory\n",
			dir + "/shut:b":          "b\n",
		} {
			p := script(c(), "")
			p.Path, p.Dir, p.Env = "tool", dir, []string{"PATH=/nowhere", "PATH=" + path}
			if _, out := begin(t, p).end(); out != want {
				t.Errorf("with the PATH %s it prints %q, want %q", path, out, want)
			}
		}
	})
}

// Rlimits and control groups are of the program's process alone.
func TestSandboxLimits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		file := filepath.Join(t.TempDir(), "procs")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p := limited(script(c(), "ulimit -S -n; ulimit -H -n; grep CapEff /proc/self/status"))
		p.Writes = []plan.Write{{Path: file, Text: "0"}}
		end, out := begin(t, p).end()
		if want := "200\n201\nCapEff:\t0000000000000000\n"; out != want || end.Code != 0 {
			t.Errorf("%q, %+v; want %q", out, end, want)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "0\n" {
			t.Errorf("written: %q, %v", text, err)
		}
	})
}

// The program comes as a descriptor, as for a worker that is not in the root.
func TestSandboxProgram(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		file, err := os.Open("/bin/echo")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, change := range []func(*plan.Plan) *plan.Plan{func(p *plan.Plan) *plan.Plan { return p }, limited} {
			p := change(script(c(), ""))
			p.Path, p.Argv = "", []string{"any name", "hi"}
			if end, out := begin(t, p, int(file.Fd())).end(); out != "hi\n" || end.Code != 0 {
				t.Errorf("%q, %+v", out, end)
			}
		}
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		p := script(c(), "")
		p.Path, p.Argv = "", []string{"any name"}
		if end, out := begin(t, p, int(null.Fd())).end(); end.Code != exitNotExecutable || out != "airlock: any name: Permission denied\n" {
			t.Errorf("%q, %+v", out, end)
		}
	})
}

// What the helper is sent, or told to send, gets to the program's whole group.
func TestSandboxSignals(t *testing.T) {
	t.Parallel()
	const text = `for s in TERM INT HUP QUIT USR1 USR2 WINCH; do trap "echo got $s" $s; done
		trap 'exit 9' ALRM; echo ready; while :; do tail -f /dev/null & wait; done`
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		s := begin(t, script(c(), text))
		s.saw("ready")
		for name, signal := range map[string]unix.Signal{
			"TERM": unix.SIGTERM, "INT": unix.SIGINT, "HUP": unix.SIGHUP, "QUIT": unix.SIGQUIT,
			"USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2, "WINCH": unix.SIGWINCH,
		} {
			if err := s.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			s.saw("got " + name)
		}
		if err := s.up.send(plan.Signal{Signal: int(unix.SIGALRM)}); err != nil {
			t.Fatal(err)
		}
		if end, out := s.end(); end.Code != 9 {
			t.Errorf("%+v, %q", end, out)
		}
	})
}

// ended waits until a helper has ended, and nobody can print any more.
func ended(t *testing.T, s *sandboxed) {
	t.Helper()
	_ = s.cmd.Wait()
	s.copied.Wait()
}

// Whatever a program leaves behind dies with it, also what has left its session.
func TestSandboxOrphans(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		s := begin(t, script(c(), `setsid tail -f /dev/null & (tail -f /dev/null &); echo leaving; exit 5`))
		end, out := s.end() // which waits until nobody can print any more
		if end.Code != 5 || !strings.Contains(out, "leaving") {
			t.Errorf("%+v, %q", end, out)
		}
	})
}

// Nothing outlives the daemon, nor does a helper that waits.
func TestSandboxWithoutDaemon(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		s := begin(t, script(c(), "setsid tail -f /dev/null & echo ready; exec tail -f /dev/null"))
		s.saw("ready")
		_ = unix.Shutdown(int(s.up), unix.SHUT_RDWR)
		ended(t, s)

		waiting := prepareSandbox(t, c().Isolated, false)
		_ = unix.Shutdown(int(waiting.up), unix.SHUT_RDWR)
		if err := waiting.cmd.Wait(); err != nil {
			t.Errorf("a helper that waits: %v", err)
		}
	})
}

// terminal opens a pseudo terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// A program on a terminal is the leader of its session: keys become signals, and
// shells can have jobs.
func TestSandboxTerminal(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	both(t, func(t *testing.T, c func() *plan.Confinement) {
		master, slave := terminal(t)
		p := script(c(), "")
		p.TTY = true
		p.Path, p.Argv = bash, []string{"bash", "--norc", "-c", `
			set -m
			trap 'echo trapped' INT
			tty; [ "$(cut -d' ' -f7 /proc/$$/stat)" = 0 ] && echo no terminal
			tail -f /dev/null & jobs | grep -c Running; kill %1; wait %1 2>/dev/null
			echo ready; read x; echo "got $x"; exit 3`}
		text, err := memoryFile(p.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(text)
		s := prepareSandbox(t, p.Confine.Isolated, p.Confine.Offline)
		fd := int(slave.Fd())
		s.send(text, []int{fd, fd, fd})
		s.copied.Go(func() {
			b := make([]byte, 1000)
			for {
				n, err := master.Read(b)
				if err != nil {
					return
				}
				_, _ = s.Write(b[:n])
			}
		})
		if answer := s.answer(); answer.Step != plan.Executing {
			t.Fatalf("answer %+v", answer)
		}
		s.saw("ready")
		// Both at once: bash may trap the signal only when it has read the line.
		if _, err := master.WriteString("\x03hello\n"); err != nil {
			t.Fatal(err)
		}
		s.saw("trapped")
		s.saw("got hello")
		for {
			m, _, err := s.up.receive()
			if err != nil {
				t.Fatal(err)
			}
			if end, ok := m.(plan.End); ok {
				if end.Code != 3 {
					t.Errorf("%+v", end)
				}
				break
			}
		}
		slave.Close()
		s.copied.Wait()
		if !bytes.Contains(s.output.Bytes(), []byte("1\r\nready")) || bytes.Contains(s.output.Bytes(), []byte("no terminal")) {
			t.Errorf("it prints %q", s.output.String())
		}
		name := "/dev/pts/"
		if p.Confine.Isolated {
			name = "/dev/console\r\n"
		}
		if !strings.HasPrefix(s.output.String(), name) {
			t.Errorf("it prints %q, want first %q", s.output.String(), name)
		}
	})
}
