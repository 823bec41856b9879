package confined

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// open executes this program as a worker, without a confinement.
type open struct{}

// process is such a worker.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	said bytes.Buffer
}

func (p *process) Kill() { _ = p.cmd.Process.Kill() }

func (p *process) ended() <-chan struct{} { return p.done }

func (p *process) status() string { return p.cmd.ProcessState.String() + ": " + p.said.String() }

func (open) start(_ context.Context, _ *sandbox.Plan, stdin *os.File) (child, error) {
	p := &process{cmd: exec.Command("/proc/self/exe"), done: make(chan struct{})}
	p.cmd.Args = []string{Name}
	p.cmd.Stdin, p.cmd.Stderr, p.cmd.Env = stdin, &p.said, []string{}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return p, nil
}

// newOpenPool returns a pool of processes that are not confined.
func newOpenPool(tb testing.TB) *Pool {
	p := newPool(open{}, policies, func() uint64 { return 0 })
	tb.Cleanup(p.Close)
	return p
}

// TestProcess: a worker is this program, executed again.
func TestProcess(t *testing.T) {
	t.Parallel()
	p := newOpenPool(t)
	path := write(t, folder(t)+"/f", "content")
	for range 2 {
		file, err := p.Open(t.Context(), protocol.MethodReadFile, &protocol.ReadFileParams{Path: uri(t, path), Sandbox: within(t, "/")})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil || string(content) != "content" {
			t.Errorf("it holds %q (%v)", content, err)
		}
	}
	if err := look(t.Context(), t, p, path+"/no"); err == nil {
		t.Error("there is something below a file")
	}
}

// TestEndsWithUs: a worker ends when nobody can ask it for anything any more.
func TestEndsWithUs(t *testing.T) {
	t.Parallel()
	control, stdin, err := controlled()
	if err != nil {
		t.Fatal(err)
	}
	c, err := open{}.start(t.Context(), nil, stdin)
	stdin.Close()
	if err != nil {
		t.Fatal(err)
	}
	control.Close()
	<-c.ended()
	if status := c.status(); status != "exit status 0: " {
		t.Errorf("it has ended with %q", status)
	}
}

// TestByHand: a worker that is not executed by this program says so.
func TestByHand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name}
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitUsage || !strings.Contains(string(out), "by airlock, not by hand") {
		t.Errorf("%v: %s", err, out)
	}
}

// BenchmarkWarm reads a small file by a worker that is there.
func BenchmarkWarm(b *testing.B) {
	p := newOpenPool(b)
	path := write(b, folder(b)+"/f", "content")
	params := &protocol.ReadFileParams{Path: uri(b, path), Sandbox: within(b, path)}
	for b.Loop() {
		file, err := p.Open(b.Context(), protocol.MethodReadFile, params)
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

// BenchmarkResolve is what each operation costs before a worker is asked: the
// policy of an agent that may write in its workspace is resolved, and the key made.
func BenchmarkResolve(b *testing.B) {
	dir := folder(b)
	if err := os.MkdirAll(dir+"/.git", 0o700); err != nil {
		b.Fatal(err)
	}
	s := protocol.WorkspaceWriteSandbox(protocol.NetworkRestricted, uri(b, dir))
	s.CWD = new(uri(b, dir))
	for b.Loop() {
		plan, err := sandbox.Resolve(sandbox.Request{Context: s, Dir: "/", Readable: itself(), Files: true}, sandbox.OS())
		if err != nil {
			b.Fatal(err)
		}
		keyOf(plan, 0)
	}
}
