package warden

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
)

// fakeDaemon is a daemon that makes records in the file of its first argument,
// prints the warden's process id and stays until it is killed. With a second
// argument it has, besides, a child that holds its end of the pipe open, as one
// does that has not executed its program yet.
func fakeDaemon() {
	w := New(Config{Command: watched})
	if err := w.Start(); err != nil {
		fmt.Println(err)
		return
	}
	j := journal(os.Args[1])
	for _, text := range []string{"a", "b", "c"} {
		w.Add(j.record(text))
	}
	w.Remove(j.record("b"))
	if len(os.Args) > 2 {
		holder := exec.Command("/proc/self/exe")
		holder.Args = []string{testHolder}
		holder.Stdin = os.Stdin // which the test holds open
		holder.ExtraFiles = []*os.File{w.life.pipe}
		if err := holder.Start(); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(w.PID(), holder.Process.Pid)
	} else {
		fmt.Println(w.PID(), 0)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// startDaemon starts a fakeDaemon and returns it with the ids that it prints.
func startDaemon(t *testing.T, args ...string) (cmd *exec.Cmd, pid, holder int) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe")
	cmd.Args = append([]string{testDaemon}, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &pid, &holder); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return cmd, pid, holder
}

// When the daemon is killed the warden removes what is left and ends, within two
// seconds: at once, in fact. That a child of the daemon holds the pipe makes no
// difference: the pidfd tells.
func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
	}{
		{"alone", nil},
		{"with a child that holds the pipe", []string{"holder"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t)
			cmd, pid, holder := startDaemon(t, append([]string{string(j)}, test.args...)...)
			fd := pidfd(t, pid)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			if !exits(fd, 20*time.Second) {
				t.Fatal("the warden has outlived the daemon")
			}
			if took := time.Since(killed); took > 2*time.Second {
				t.Errorf("the warden took %v", took)
			}
			if got, want := j.read(t), "c a"; got != want {
				t.Errorf("swept %q, want %q", got, want)
			}
			if holder != 0 && unix.Kill(holder, 0) != nil {
				t.Error("the child that holds the pipe has ended early")
			}
		})
	}
}

// The warden has nothing of the daemon's but what it needs, and is there for
// the daemon's end only.
func TestWardenProcess(t *testing.T) {
	t.Parallel()
	inherited, err := unix.Dup(0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	w := start(t, Config{Command: helper.Warden})
	pid := w.PID()
	ready(t, pid)
	proc := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if got, want := proc("cmdline"), "airlock-helper\x00warden\x00"; got != want {
		t.Errorf("command line %q, want %q", got, want)
	}
	if got, want := proc("environ"), "GOMAXPROCS=1\x00GODEBUG=containermaxprocs=0\x00"; got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); cwd != "/" {
		t.Errorf("working directory %q (%v)", cwd, err)
	}
	if sid, err := unix.Getsid(pid); sid != pid {
		t.Errorf("session %d (%v), want %d", sid, err, pid)
	}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/dev/null", "/dev/null", "/dev/null", "pipe:", "pidfd"}
	if len(entries) != len(want) {
		t.Errorf("%d descriptors, want %d", len(entries), len(want))
	}
	for _, entry := range entries {
		target, _ := os.Readlink(dir + entry.Name())
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd >= len(want) || !strings.Contains(target, want[fd]) {
			t.Errorf("descriptor %s is %s", entry.Name(), target)
		}
	}
}

// A terminal, or a service manager, that signals all it can find does not end
// the warden before it is needed.
func TestSignalsIgnored(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	w := start(t, Config{})
	pid := w.PID()
	ready(t, pid)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP} {
		if err := unix.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	w.Add(j.record("a"))
	if w.PID() != pid {
		t.Error("the warden has been replaced")
	}
	w.Close()
	if got, want := j.read(t), "a"; got != want {
		t.Errorf("swept %q, want %q", got, want)
	}
}
