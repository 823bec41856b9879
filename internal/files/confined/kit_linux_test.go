package confined

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// actor plays a worker, in this program. It returns when its control socket ends.
type actor struct {
	play  func(a *actor)
	stdin *socket
	done  chan struct{}
	says  string // how it has ended

	kill sync.Once
}

func (a *actor) Kill() {
	a.kill.Do(func() {
		raw, err := a.stdin.file.SyscallConn()
		if err == nil {
			_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
		}
	})
}

func (a *actor) ended() <-chan struct{} { return a.done }

func (a *actor) status() string { return a.says }

// faithful does what a worker does.
func faithful(a *actor) { _ = serve(a.stdin) }

// company starts actors.
type company struct {
	mu      sync.Mutex
	plays   []func(*actor) // guarded by mu; those of the first ones; faithful after
	err     error          // of every start
	started []*actor       // guarded by mu
}

func (c *company) start(_ context.Context, _ *sandbox.Plan, stdin *os.File) (child, error) {
	if c.err != nil {
		return nil, c.err
	}
	fd, err := unix.FcntlInt(stdin.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	a := &actor{play: faithful, stdin: newSocket(fd), done: make(chan struct{}), says: "exit status: 7: it had enough"}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.started); n < len(c.plays) {
		a.play = c.plays[n]
	}
	c.started = append(c.started, a)
	go func() {
		defer close(a.done)
		defer a.stdin.Close()
		a.play(a)
	}()
	return a, nil
}

func (c *company) actors() []*actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*actor{}, c.started...)
}

// policies resolves policies to plans that differ with the path of their one entry.
func policies(s *protocol.SandboxContext) (*sandbox.Plan, error) {
	p := &sandbox.Plan{Kind: sandbox.Isolated, Base: plan.ReadOnly}
	for _, e := range s.Permissions.FileSystem.Entries {
		path, err := e.Path.Path.Native()
		if err != nil {
			return nil, err
		}
		if path == "/wrong" {
			return nil, errors.New("it is wrong")
		}
		p.Mounts = append(p.Mounts, plan.Mount{Kind: plan.BindWritable, Path: path})
		if filepath.Base(path) == "pointed" {
			git := path + "/.git"
			p.Mounts = append(p.Mounts, plan.Mount{Kind: plan.CoverDirectory, Path: git})
			p.Points = append(p.Points, sandbox.Point{Path: git, Directory: true})
		}
	}
	return p, nil
}

// newTestPool returns a pool of actors.
func newTestPool(t *testing.T, c *company, plays ...func(*actor)) *Pool {
	t.Helper()
	c.plays = plays
	p := newPool(c, policies, func() uint64 { return 0 })
	t.Cleanup(p.Close)
	return p
}

// within returns a policy that is about a path.
func within(tb testing.TB, path string) *protocol.SandboxContext {
	tb.Helper()
	return protocol.RestrictedSandbox(protocol.NetworkRestricted, protocol.PathEntry(uri(tb, path), protocol.AccessWrite))
}

func uri(tb testing.TB, path string) protocol.PathURI {
	tb.Helper()
	u, err := protocol.PathURIFromNative(path)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// folder returns an empty folder.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func write(tb testing.TB, path, text string) string {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// look asks what is at a path.
func look(ctx context.Context, tb testing.TB, p *Pool, path string) error {
	tb.Helper()
	params := &protocol.GetMetadataParams{Path: uri(tb, path), Sandbox: within(tb, path)}
	_, err := p.Append(ctx, nil, protocol.MethodGetMetadata, params)
	return err
}

// wantError fails the test unless an error is as it should be on the wire.
func wantError(tb testing.TB, what string, err error, code protocol.Code, text string) {
	tb.Helper()
	wire, ok := errors.AsType[*protocol.Error](err)
	if !ok || wire.Code != code || wire.Message != text {
		tb.Errorf("%s: got %v, want %d %s", what, err, code, text)
	}
}
