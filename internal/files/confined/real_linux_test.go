package confined

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/sandbox/seccomp"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// simple confines by namespaces what needs nothing that is not on the host.
type simple struct{ tb testing.TB }

func (s simple) Confine(_ context.Context, p *sandbox.Plan) (sandbox.Confined, error) {
	if len(p.Points) > 0 {
		s.tb.Errorf("%v are needed", p.Points)
	}
	filter, err := seccomp.Compile(seccomp.Options{Mode: seccomp.Restricted})
	return sandbox.Confined{
		Confinement: &plan.Confinement{
			Isolated: true, Base: p.Base, Mounts: p.Mounts, Offline: true, Filter: filter,
		},
		Tier: protocol.TierNamespaces,
		Undo: func() {},
	}, err
}

func (simple) Close() {}

// newRealPool returns a pool whose workers are confined.
func newRealPool(tb testing.TB) *Pool {
	tb.Helper()
	spawner := spawn.New(spawn.Config{})
	tb.Cleanup(spawner.Close)
	p := New(Config{Group: spawner.NewGroup(), Backend: simple{tb}, Env: os.Environ(), Dir: "/"})
	tb.Cleanup(p.Close)
	return p
}

// workspace returns a folder with all that is protected in one, and a policy that
// lets only that be written, and a file in it not be read.
func workspace(tb testing.TB) (string, *protocol.SandboxContext) {
	tb.Helper()
	dir := folder(tb)
	for _, name := range []string{".git", ".agents", ".codex", ".aws"} {
		if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
			tb.Fatal(err)
		}
		write(tb, dir+"/"+name+"/x", "")
	}
	write(tb, dir+"/hidden", "hidden")
	s := protocol.RestrictedSandbox(protocol.NetworkRestricted,
		protocol.SpecialEntry(protocol.SpecialRoot, protocol.AccessRead),
		protocol.SpecialEntry(protocol.SpecialProjectRoots, protocol.AccessWrite),
		protocol.PathEntry(uri(tb, dir+"/hidden"), protocol.AccessDeny))
	s.CWD = new(uri(tb, dir))
	s.WorkspaceRoots = []protocol.PathURI{*s.CWD}
	return dir, s
}

// TestReal: workers that are confined read, write and are denied what they have to be.
func TestReal(t *testing.T) {
	t.Parallel()
	p := newRealPool(t)
	dir, s := workspace(t)
	outside := folder(t)
	file, err := p.Open(t.Context(), protocol.MethodWriteFile, &protocol.WriteFileParams{Path: uri(t, dir+"/new"), Sandbox: s})
	if err != nil {
		if strings.Contains(err.Error(), "not permitted") || strings.Contains(err.Error(), "namespace") {
			t.Skipf("there are no namespaces here: %v", err)
		}
		t.Fatal(err)
	}
	if _, err := file.WriteString("new"); err != nil {
		t.Error(err)
	}
	file.Close()
	file, err = p.Open(t.Context(), protocol.MethodReadFile, &protocol.ReadFileParams{Path: uri(t, dir+"/new"), Sandbox: s})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(file)
	if file.Close(); err != nil || string(content) != "new" {
		t.Errorf("it holds %q (%v)", content, err)
	}
	_, err = p.Open(t.Context(), protocol.MethodWriteFile, &protocol.WriteFileParams{Path: uri(t, outside+"/new"), Sandbox: s})
	wantText(t, "a file outside", err, "Read-only file system (os error 30)")
	_, err = p.Open(t.Context(), protocol.MethodReadFile, &protocol.ReadFileParams{Path: uri(t, dir+"/hidden"), Sandbox: s})
	wantText(t, "a hidden file", err, "Permission denied (os error 13)")
	result, err := p.Append(t.Context(), nil, protocol.MethodReadDirectory, &protocol.ReadDirectoryParams{Path: uri(t, outside), Sandbox: s})
	if want := `{"entries":[]}`; err != nil || string(result) != want {
		t.Errorf("outside there is %s (%v), want %s", result, err, want)
	}
}

func wantText(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// BenchmarkReal reads a small file by a confined worker that is there.
func BenchmarkReal(b *testing.B) {
	p := newRealPool(b)
	dir, s := workspace(b)
	params := &protocol.ReadFileParams{Path: uri(b, write(b, dir+"/f", "content")), Sandbox: s}
	for b.Loop() {
		file, err := p.Open(b.Context(), protocol.MethodReadFile, params)
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

// BenchmarkCold does the same by one that has to be started.
func BenchmarkCold(b *testing.B) {
	p := newRealPool(b)
	dir, s := workspace(b)
	params := &protocol.ReadFileParams{Path: uri(b, write(b, dir+"/f", "content")), Sandbox: s}
	for b.Loop() {
		file, err := p.Open(b.Context(), protocol.MethodReadFile, params)
		if err != nil {
			b.Fatal(err)
		}
		file.Close()
		p.mu.Lock()
		for _, w := range p.workers {
			p.retireLocked(w)
		}
		p.mu.Unlock()
		gone(p)
	}
}
