package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// environmentID is that of the executor: the one that an agent gives it that is
// pointed at it by CODEX_EXEC_SERVER_URL.
const environmentID = "remote"

// place is where an agent finds its executor.
type place struct {
	env          []string // of the agent
	environments string   // its environments.toml; none if empty
	// A daemon and the way to it; nil if the agent starts the executor.
	daemon *daemon
	cable  *cable
}

// ways are those by which an agent reaches an executor. An executor and its
// commands have env in their environment.
var ways = map[string]func(t *testing.T, env []string) place{
	"websocket": overWebSocket,
	"stdio":     overStdio,
}

func overWebSocket(t *testing.T, env []string) place {
	t.Helper()
	d := serve(t, env)
	c := newCable(t, d.address)
	return place{env: []string{"CODEX_EXEC_SERVER_URL=" + c.url()}, daemon: d, cable: c}
}

func overStdio(t *testing.T, env []string) place {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "default = %q\ninclude_local = false\n", environmentID)
	fmt.Fprintf(&text, "[[environments]]\nid = %q\nprogram = %q\n", environmentID, executorProgram)
	text.WriteString(`args = ["exec-server", "--listen", "stdio"]` + "\n[environments.env]\n")
	for _, variable := range slices.Concat(env, executorEnvironment(t)) {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&text, "%s = %q\n", name, value)
	}
	return place{environments: text.String()}
}

// executorEnvironment keeps what an executor writes for itself in folders of ours.
func executorEnvironment(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err == nil && os.Getenv("AIRLOCK_AGENT_EXECUTOR") != "" {
		// That of Codex has no sandbox if this is below the system's temporary folder.
		home, err = os.MkdirTemp(home, ".codex-test-") //nolint:usetesting // for that reason
		t.Cleanup(func() { _ = os.RemoveAll(home) })
	} else {
		home = t.TempDir()
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"XDG_RUNTIME_DIR=" + runtimeDir, "CODEX_HOME=" + home}
}

// daemon is an executor that listens.
type daemon struct {
	cmd     *exec.Cmd
	address string // host and port
	log     bytes.Buffer
	drained chan struct{} // closed when its standard output has ended
	stopped sync.Once
	err     error // how it has ended
}

// serve starts a daemon, which is stopped at the end of the test. Its log is
// shown if the test has failed.
func serve(t *testing.T, env []string, flags ...string) *daemon {
	t.Helper()
	args := append([]string{"exec-server", "--listen", "ws://127.0.0.1:0"}, flags...)
	d := &daemon{cmd: exec.Command(executorProgram, args...), drained: make(chan struct{})}
	d.cmd.Env = slices.Concat(os.Environ(), env, executorEnvironment(t))
	d.cmd.Stderr = &d.log
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.stop()
		if d.err != nil {
			t.Errorf("the executor has ended: %v", d.err)
		}
		if t.Failed() {
			t.Logf("log of the executor:\n%s", d.log.String())
		}
	})
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		close(d.drained)
	}()
	if err != nil {
		t.Fatalf("the executor does not come up: %v", err)
	}
	d.address = strings.TrimPrefix(strings.TrimSpace(line), "ws://")
	return d
}

// stop asks the daemon to end, and waits until it has.
func (d *daemon) stop() {
	d.stopped.Do(func() {
		_ = d.cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
		defer late.Stop()
		<-d.drained
		d.err = d.cmd.Wait()
	})
}
