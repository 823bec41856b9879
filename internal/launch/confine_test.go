package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/network/relay"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// backend is a sandbox.Backend that confines nothing, and remembers.
type backend struct {
	err    error
	asked  []*sandbox.Plan
	undone int
}

func (b *backend) Confine(_ context.Context, p *sandbox.Plan) (sandbox.Confined, error) {
	if b.err != nil {
		return sandbox.Confined{}, b.err
	}
	b.asked = append(b.asked, p)
	return sandbox.Confined{
		Confinement: &plan.Confinement{Listen: p.Ports},
		Tier:        protocol.TierNamespaces,
		Undo:        func() { b.undone++ },
	}, nil
}

func (*backend) Close() {}

// TestCheckConfinedOrder is TestCheckOrder for starts with a sandbox, where there is
// one.
func TestCheckConfinedOrder(t *testing.T) {
	foreign := foreignPath(t)
	with := func(change func(*protocol.SandboxContext)) func(*protocol.StartParams) {
		return func(p *protocol.StartParams) {
			if p.Sandbox == nil {
				p.Sandbox = protocol.ReadOnlySandbox(protocol.NetworkRestricted)
			}
			change(p.Sandbox)
		}
	}
	mxc := with(func(c *protocol.SandboxContext) { c.WindowsSandboxLevel = protocol.WindowsSandboxMXC })
	wantInOrder(t, New(Config{Sandbox: &backend{}}), []fault{
		{func(p *protocol.StartParams) { mxc(p); p.Arg0 = new("zero") }, "MXC custom argv0 is not supported"},
		{func(p *protocol.StartParams) { mxc(p); p.Arg0 = nil }, "native MXC is unavailable on this executor"},
		{func(p *protocol.StartParams) {
			p.NetworkProxy = &protocol.NetworkProxy{}
			p.Sandbox.WindowsSandboxLevel = protocol.WindowsSandboxDisabled
		}, "`networkProxy`"},
		{func(p *protocol.StartParams) { p.NetworkProxy, p.Argv = nil, nil }, "argv must not be empty"},
		{func(p *protocol.StartParams) {
			with(func(c *protocol.SandboxContext) { c.CWD = &foreign })(p)
			p.Argv = []string{"true"}
		}, "failed to prepare process sandbox: invalid sandbox policy cwd: 'file://server/share' is invalid on "},
		{with(func(c *protocol.SandboxContext) { c.CWD = nil }), "failed to prepare process sandbox: invalid sandbox policy cwd: 'file://server/share' is invalid on "},
		{with(func(c *protocol.SandboxContext) { c.WorkspaceRoots = []protocol.PathURI{foreign} }), "failed to prepare process sandbox: invalid sandbox workspace root: 'file://server/share' is invalid on "},
		{func(p *protocol.StartParams) {
			with(func(c *protocol.SandboxContext) { c.CWD = new(p.CWD) })(p)
			p.NetworkProxy, p.CWD, p.Argv = nil, foreign, []string{"true"}
		}, "failed to prepare process sandbox: command cwd URI `file://server/share` is not valid on this host: 'file://server/share' is invalid on "},
	})
	for _, s := range []*protocol.SandboxContext{protocol.FullAccessSandbox(), protocol.ReadOnlySandbox(protocol.NetworkEnabled)} {
		params := startParams(t, func(p *protocol.StartParams) { p.Sandbox, p.EnforceManagedNetwork = s, true })
		if err := New(Config{Sandbox: &backend{}}).Check(params); err != nil {
			t.Error(err)
		}
		err := New(Config{}).Check(params)
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Kind() != protocol.KindSandboxUnavailable {
			t.Errorf("without a sandbox: %v", err)
		}
	}
}

// stagesOf runs the stages that make a confinement.
func stagesOf(t *testing.T, b sandbox.Backend, params *protocol.StartParams) (*Launch, error) {
	t.Helper()
	l := &Launch{Params: params}
	for _, stage := range New(Config{Sandbox: b, Env: []string{"PATH=/bin"}}).stages {
		if err := stage(t.Context(), l); err != nil {
			return l, err
		}
	}
	return l, nil
}

// TestConfine: what is asked for reaches the backend, and what that says the command;
// nothing is asked of it if nothing is restricted.
func TestConfine(t *testing.T) {
	b := &backend{}
	for _, test := range []struct {
		name     string
		sandbox  *protocol.SandboxContext
		want     Confined
		confined bool
	}{
		{"none", nil, Confined{}, false},
		{"all is allowed", protocol.FullAccessSandbox(), Confined{protocol.SandboxLinuxSeccomp, protocol.TierNone}, false},
		{"read-only", protocol.ReadOnlySandbox(protocol.NetworkRestricted), Confined{protocol.SandboxLinuxSeccomp, protocol.TierNamespaces}, true},
	} {
		b.asked = nil
		l, err := stagesOf(t, b, startParams(t, func(p *protocol.StartParams) { p.Sandbox = test.sandbox }))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, l.Confined); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got := l.Command.Confinement != nil; got != test.confined || (len(b.asked) == 1) != test.confined {
			t.Errorf("%s: confined %v, plans %v", test.name, got, b.asked)
		}
	}
}

// TestConfineFails: a sandbox that can't be had fails the start, in the words of the
// dialect, and leaves nothing.
func TestConfineFails(t *testing.T) {
	const refused = `sandbox intent cannot be enforced on this executor`
	for _, test := range []struct {
		name string
		err  error
		want string
		kind protocol.ErrorKind
	}{
		{"of the wire", protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxUnavailable, refused), refused, protocol.KindSandboxUnavailable},
		{"another", errors.New("no disk"), "failed to prepare process sandbox: no disk", protocol.KindSandboxPreparation},
	} {
		_, err := stagesOf(t, &backend{err: test.err}, startParams(t, func(p *protocol.StartParams) {
			p.Sandbox = protocol.ReadOnlySandbox(protocol.NetworkRestricted)
		}))
		e, ok := errors.AsType[*protocol.Error](err)
		if !ok || e.Code != protocol.CodeInvalidParams || e.Message != test.want || e.Kind() != test.kind {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("terminated")
	cancel(cause)
	l := New(Config{Sandbox: &backend{err: errors.New("interrupted")}})
	_, err := l.Launch(ctx, nil, startParams(t, func(p *protocol.StartParams) {
		p.Sandbox = protocol.ReadOnlySandbox(protocol.NetworkRestricted)
	}), nil)
	if !errors.Is(err, cause) {
		t.Errorf("canceled: %v", err)
	}
}

// TestUndo: what has been made ready is undone in reverse, once, however a launch
// ends.
func TestUndo(t *testing.T) {
	spawner := spawn.New(spawn.Config{Means: "group"})
	t.Cleanup(spawner.Close)
	fails := errors.New("the last stage")
	for _, test := range []struct {
		name    string
		last    Stage
		program string
		started bool
	}{
		{"started", nil, "true", true},
		{"not executed", nil, "/no/such/program", false},
		{"a stage fails", func(context.Context, *Launch) error { return fails }, "true", false},
	} {
		group := spawner.NewGroup()
		var undone []int
		l := New(Config{Env: []string{"PATH=/usr/bin:/bin"}})
		for i := range 3 {
			l.stages = append(l.stages, func(_ context.Context, l *Launch) error {
				l.undo(func() { undone = append(undone, i) })
				l.undo(nil)
				return nil
			})
		}
		if test.last != nil {
			l.stages = append(l.stages, test.last)
		}
		e := &closing{events{make(chan int, 1)}, make(chan struct{})}
		_, err := l.Launch(t.Context(), group, startParams(t, func(p *protocol.StartParams) { p.Argv = []string{test.program} }),
			func(*spawn.Process) spawn.Events { return e })
		if (err == nil) != test.started {
			t.Fatalf("%s: %v", test.name, err)
		}
		if test.started {
			<-e.closed
		}
		if !slices.Equal(undone, []int{2, 1, 0}) {
			t.Errorf("%s: undone %v", test.name, undone)
		}
		_ = group.Close()
	}
}

// closing tells when a process has closed.
type closing struct {
	events
	closed chan struct{}
}

func (c *closing) Closed() { close(c.closed) }

// TestReach: a process reaches the ports of its confinement, until it has closed.
func TestReach(t *testing.T) {
	host, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	l := &Launch{Command: spawn.Command{Confinement: &plan.Confinement{
		Listen: []uint16{uint16(host.Addr().(*net.TCPAddr).Port)},
	}}}
	if err := reach(relay.NewBudget())(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	inside, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	socket, err := inside.File()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Command.Listeners([]*os.File{socket}); err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp4", inside.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := host.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	l.runUndos()
	if _, err := client.Read(make([]byte, 1)); err == nil {
		t.Error("the connection has outlived the process")
	}

	plain := &Launch{}
	if err := reach(relay.NewBudget())(t.Context(), plain); err != nil || plain.undos != nil || plain.Command.Listeners != nil {
		t.Errorf("without ports: %+v, %v", plain, err)
	}
}
