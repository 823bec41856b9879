//go:build unix

package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// folder has the program that the tests run, and what else lives as long as they.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "airlock-tui-"); err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "bin", "airlock"),
		"github.com/airlock-exec/airlock/cmd/airlock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building airlock: %v\n%s", err, out)
		os.Exit(1)
	}
	for _, name := range []string{"run", "tmux"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "tmux.conf"), []byte(configuration), 0o600); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// configuration is that of tmux. Escape is a key at once.
const configuration = `
set -g default-terminal screen-256color
set -g escape-time 0
set -g status off
set -g remain-on-exit on
set -g history-limit 5000
`

// require skips a test where a program is missing, or fails it where all are
// required.
func require(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range append(programs, "tmux", "bash", "ps") {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		name := program
		if program == "ps" {
			name = "procps"
		}
		const format = "%s is not installed (on Debian: apt-get install %s)"
		if os.Getenv("AIRLOCK_REQUIRE_TUI") == "1" {
			t.Fatalf(format, program, name)
		}
		t.Skipf(format, program, name)
	}
}

// environment is that of all that runs: it does not depend on who runs the tests.
func environment() []string {
	return []string{
		"PATH=" + filepath.Join(folder, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + folder, "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=xterm-256color",
		"XDG_RUNTIME_DIR=" + filepath.Join(folder, "run"),
		"TMUX_TMPDIR=" + filepath.Join(folder, "tmux"),
	}
}

// everyWay runs a test with the words that run a command in a terminal: in an
// executor of its own, and in a daemon.
func everyWay(t *testing.T, test func(t *testing.T, run string)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, "airlock run -t")
	})
	t.Run("url", func(t *testing.T) {
		t.Parallel()
		d := serve(t, "ws://127.0.0.1:0")
		test(t, "airlock run -t --url "+d.url+" --cwd $PWD")
	})
}

// daemon is a running `airlock serve`.
type daemon struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{} // closed when it has ended
}

// serve starts a daemon, which is killed at the end of the test.
func serve(t *testing.T, listen string) *daemon {
	t.Helper()
	d := &daemon{
		cmd:  exec.Command(filepath.Join(folder, "bin", "airlock"), "serve", "--listen", listen),
		done: make(chan struct{}),
	}
	d.cmd.Env = environment()
	// Of a shell's prompt, and out of the reach of who ends the tests by a key.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	d.cmd.Stderr = t.Output()
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = d.cmd.Wait()
		t.Fatalf("the daemon does not come up: %v", err)
	}
	d.url = strings.TrimSpace(line)
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		_ = d.cmd.Wait()
		close(d.done)
	}()
	t.Cleanup(func() { d.end(syscall.SIGTERM) })
	return d
}

// end sends a signal and waits for the end.
func (d *daemon) end(signal syscall.Signal) {
	_ = d.cmd.Process.Signal(signal)
	<-d.done
}

// patience is how long anything may take: the machine may have much to do.
const patience = time.Minute

// await waits until check returns "", looking every now and then, and fails with
// what it says if that takes too long.
func await(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", patience, wrong)
		}
		<-time.After(20 * time.Millisecond)
	}
}
