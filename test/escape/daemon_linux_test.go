package escape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// program is the airlock that the tests run.
var program string

func TestMain(m *testing.M) {
	// Not in /tmp, which policies let programs write.
	dir, err := os.MkdirTemp("/var/tmp", "airlock-escape-")
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // others run what is in there
	}
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "airlock")
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

// user is who runs an executor; the zero value is whoever runs the tests.
type user struct {
	name string
	id   int
}

// users are those that the tests can be.
func users() []user {
	if os.Getuid() != 0 {
		return []user{{"user", os.Getuid()}}
	}
	return []user{{"root", 0}, {"user", 65534}}
}

func (u user) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if u.id != os.Getuid() {
		a.Credential = &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}
	}
	return a
}

// lockedBuffer is written by one and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve runs an executor as a user, and connects to it.
func serve(t *testing.T, u user, home string, flags ...string) client.Executor {
	t.Helper()
	cmd := exec.Command(program, append([]string{"serve", "--log-level=info"}, flags...)...)
	log := &lockedBuffer{}
	cmd.Stderr = log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home}
	cmd.Dir = "/"
	cmd.SysProcAttr = u.attributes()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the executor does not come up: %v\n%s", err, log.String())
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if t.Failed() {
			t.Logf("log of the executor:\n%s", log.String())
		}
	})
	e, err := client.Dial(t.Context(), strings.TrimSpace(line), client.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// run runs a process to its end. It returns its output and how it has ended.
func run(t *testing.T, e client.Executor, params *protocol.StartParams) (string, client.Event) {
	t.Helper()
	p, err := e.Start(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return finish(t, p)
}

// finish waits for the end of a process.
func finish(t *testing.T, p *client.Process) (string, client.Event) {
	t.Helper()
	var out bytes.Buffer
	var exit client.Event
	for {
		event, err := p.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out.String(), exit
		}
		if err != nil {
			t.Fatal(err)
		}
		switch event.Kind {
		case client.Output:
			out.Write(event.Data)
		case client.Exited:
			exit = event
		case client.Closed, client.Gap:
		}
	}
}
