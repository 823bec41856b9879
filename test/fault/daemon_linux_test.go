package fault

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	// program is the airlock that the tests run.
	program string
	// runtimeDir is where its daemons put what the next one has to find.
	runtimeDir string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "airlock-fault-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "airlock")
	runtimeDir = filepath.Join(dir, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-o", program, "github.com/airlock-exec/airlock/cmd/airlock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building airlock: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// daemon is a running `airlock serve`.
type daemon struct {
	cmd  *exec.Cmd
	url  string
	log  lockedBuffer
	done chan struct{} // closed when it has ended
}

// serve starts a daemon, which is killed at the end of the test if it still
// runs. Its log is shown if the test has failed.
func serve(t *testing.T, flags ...string) *daemon {
	t.Helper()
	return serveUnder(t, nil, flags...)
}

// serveUnder is serve by way of other programs, such as a shell that sets
// limits; the last of them executes its arguments.
func serveUnder(t *testing.T, wrapper []string, flags ...string) *daemon {
	t.Helper()
	argv := slices.Concat(wrapper, []string{program, "serve", "--log-level=info"}, flags)
	d := &daemon{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	d.cmd.Stderr = &d.log
	d.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtimeDir)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
		t.Fatalf("the daemon does not come up: %v\n%s", err, d.log.String())
	}
	d.url = strings.TrimSpace(line)
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		_ = d.cmd.Wait()
		close(d.done)
	}()
	t.Cleanup(func() {
		d.kill(syscall.SIGKILL)
		<-d.done
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", d.log.String())
		}
	})
	return d
}

// address is where the daemon listens.
func (d *daemon) address() string { return strings.TrimPrefix(d.url, "ws://") }

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// kill sends a signal to the daemon alone.
func (d *daemon) kill(signal syscall.Signal) { _ = d.cmd.Process.Signal(signal) }

// status returns a field of the daemon's /proc status that is a number, such as
// VmRSS in KiB.
func (d *daemon) status(t *testing.T, field string) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "\n"+field+":")
	words := strings.Fields(rest)
	if !found || len(words) == 0 {
		t.Fatalf("no %s in the daemon's status", field)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// descriptors returns how many the daemon has open.
func (d *daemon) descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.pid()))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// soon is within two seconds, as promised, on a machine that has nothing else to
// do. A busy one must not fail the test.
const soon = 15 * time.Second

// eventually waits until check returns "", looking every now and then, and
// fails with what it says if that takes too long.
func eventually(t *testing.T, within time.Duration, check func() string) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", within, wrong)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
