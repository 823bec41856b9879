package launch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startParams are sound, until they are changed.
func startParams(t *testing.T, change func(*protocol.StartParams)) *protocol.StartParams {
	t.Helper()
	cwd, err := protocol.PathURIFromNative(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &protocol.StartParams{ProcessID: "p", Argv: []string{"sh", "-c", "exit 3"}, CWD: cwd}
	if change != nil {
		change(p)
	}
	return p
}

// fault is something wrong with a start.
type fault struct {
	add  func(*protocol.StartParams)
	want string
}

// wantInOrder checks that the first of the faults that are there is told.
func wantInOrder(t *testing.T, l *Launcher, faults []fault) {
	t.Helper()
	for i, fault := range faults {
		params := startParams(t, func(p *protocol.StartParams) {
			for j := len(faults) - 1; j >= i; j-- {
				faults[j].add(p)
			}
		})
		err := l.Check(params)
		e, ok := errors.AsType[*protocol.Error](err)
		if !ok || e.Code != protocol.CodeInvalidParams || !strings.Contains(e.Message, fault.want) {
			t.Errorf("fault %d: got %v, want %s", i, err, fault.want)
		}
	}
}

func foreignPath(t *testing.T) protocol.PathURI {
	t.Helper()
	foreign, err := protocol.ParsePathURI("file://server/share")
	if err != nil {
		t.Fatal(err)
	}
	return foreign
}

// TestCheckOrder: of several faults the one that the dialect reports first wins.
// Each line has the faults of all lines below it, too.
func TestCheckOrder(t *testing.T) {
	foreign := foreignPath(t)
	faults := []fault{
		{func(p *protocol.StartParams) {
			p.NetworkProxy = &protocol.NetworkProxy{PolicyDecisionTimeoutMs: new(uint64(0))}
		}, "network policy decision callback timeout must be nonzero"},
		{func(p *protocol.StartParams) {
			p.NetworkProxy = &protocol.NetworkProxy{PolicyDecisionTimeoutMs: new(uint64(1))}
			p.ProcessID = strings.Repeat("x", limits.CallbackProcessIDBytes+1)
		}, "callback-enabled process ID must be non-empty and at most 256 bytes"},
		{func(p *protocol.StartParams) { p.NetworkProxy = &protocol.NetworkProxy{} }, "`networkProxy`"},
		{func(p *protocol.StartParams) { p.Sandbox = protocol.FullAccessSandbox() }, "`sandbox`"},
		{func(p *protocol.StartParams) { p.EnforceManagedNetwork = true }, "`enforceManagedNetwork`"},
		{func(p *protocol.StartParams) { p.CWD = foreign }, "cwd URI `file://server/share` is not valid"},
		{func(p *protocol.StartParams) { p.ShellSnapshot = &protocol.ShellSnapshot{} }, "`shellSnapshot`"},
		{func(p *protocol.StartParams) { p.Argv = nil }, "argv must not be empty"},
		{func(p *protocol.StartParams) {
			p.Airlock = &protocol.StartExtra{TimeoutMs: new(uint64(1))}
		}, "`airlock.timeoutMs` is switched off on this executor (feature processTimeouts)"},
	}
	l := New(Config{})
	wantInOrder(t, l, faults)
	for _, change := range []func(*protocol.StartParams){
		nil,
		func(p *protocol.StartParams) { p.Sandbox = nil },
		func(p *protocol.StartParams) { p.ManagedNetwork = &protocol.ManagedNetwork{} },
		func(p *protocol.StartParams) { p.ProcessID = "" },
	} {
		if err := l.Check(startParams(t, change)); err != nil {
			t.Error(err)
		}
	}
}

// events waits for the exit code.
type events struct{ code chan int }

func (*events) Admit(<-chan struct{})       {}
func (*events) Output(spawn.Stream, []byte) {}
func (e *events) Exited(code int)           { e.code <- code }
func (*events) Closed()                     {}

func TestLaunch(t *testing.T) {
	l := New(Config{Env: []string{"PATH=/usr/bin:/bin", "FROM=base"}})
	spawner := spawn.New(spawn.Config{Means: "group"})
	t.Cleanup(spawner.Close)
	group := spawner.NewGroup()
	e := &events{code: make(chan int, 1)}
	adopt := func(*spawn.Process) spawn.Events { return e }
	params := startParams(t, func(p *protocol.StartParams) {
		p.Argv = []string{"sh", "-c", `test "$FROM" = base && test "$0" = zero && exit 3`, "zero"}
		p.EnvPolicy = &protocol.EnvPolicy{Inherit: protocol.InheritAll}
	})
	if confined, err := l.Launch(t.Context(), group, params, adopt); err != nil || confined != (Confined{}) {
		t.Fatal(confined, err)
	}
	if code := <-e.code; code != 3 {
		t.Errorf("exit code %d", code)
	}

	for _, test := range []struct {
		program string
		kind    protocol.ErrorKind
	}{
		{"/no/such/program", protocol.KindSpawnNotFound},
		{"/", protocol.KindSpawnPermissionDenied},
		{"", protocol.KindSpawnFailed},
	} {
		_, err := l.Launch(t.Context(), group, startParams(t, func(p *protocol.StartParams) { p.Argv = []string{test.program} }), adopt)
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.CodeInternal || e.Kind() != test.kind {
			t.Errorf("%q: got %v, want %s", test.program, err, test.kind)
		}
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("terminated")
	cancel(cause)
	if _, err := l.Launch(ctx, group, startParams(t, nil), adopt); !errors.Is(err, cause) {
		t.Errorf("canceled: %v", err)
	}
}
