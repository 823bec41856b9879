package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/protocol"
)

// TestGround: what a policy refers to is judged in the order and the words of the
// dialect, for processes and for operations on files.
func TestGround(t *testing.T) {
	t.Parallel()
	foreign, ws, other := uriOf(t, "/C:/x"), uriOf(t, "/ws"), uriOf(t, "/other")
	uris := func(all ...protocol.PathURI) []protocol.PathURI { return all }
	bad := protocol.PathEntry(foreign, protocol.AccessRead)
	const (
		process = "failed to prepare process sandbox: "
		invalid = "'file:///C:/x' is invalid on 'linux'"
		dynamic = "file system sandbox context with dynamic permissions requires cwd"
	)
	for _, test := range []struct {
		name           string
		change         func(*protocol.SandboxContext)
		process, files string // the error, or what may be written
	}{
		{"as it is", func(*protocol.SandboxContext) {}, "/ws", "/ws"},
		{"foreign cwd and all else", func(c *protocol.SandboxContext) {
			c.CWD, c.WorkspaceRoots = &foreign, uris(foreign)
			c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, bad)
		}, process + "invalid sandbox policy cwd: " + invalid, invalid},
		{"foreign root and entry", func(c *protocol.SandboxContext) {
			c.WorkspaceRoots = uris(foreign)
			c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, bad)
		}, process + "invalid sandbox workspace root: " + invalid, "invalid sandbox workspace root: " + invalid},
		{"foreign entry", func(c *protocol.SandboxContext) {
			c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, bad)
		}, process + "invalid sandbox permission path: " + invalid, "invalid sandbox permission path URI: " + invalid},
		{"foreign home", func(c *protocol.SandboxContext) { c.UserHomeDir = &foreign }, "/ws", "/ws"},
		{"no cwd", func(c *protocol.SandboxContext) { c.CWD = nil }, "/ws", dynamic},
		{"a policy context", func(c *protocol.SandboxContext) {
			c.PolicyContext = &protocol.SandboxPolicyContext{CWD: &other, WorkspaceRoots: uris(other)}
		}, "/other", "/other"},
		{"a policy context without roots", func(c *protocol.SandboxContext) {
			c.PolicyContext = &protocol.SandboxPolicyContext{CWD: &other}
		}, "", ""},
		{"a policy context without cwd", func(c *protocol.SandboxContext) {
			c.CWD, c.PolicyContext = nil, &protocol.SandboxPolicyContext{WorkspaceRoots: uris(ws)}
		}, "/ws", dynamic},
		{
			"mxc", func(c *protocol.SandboxContext) { c.WindowsSandboxLevel = protocol.WindowsSandboxMXC },
			"native MXC is unavailable on this executor", "failed to prepare fs sandbox: failed to prepare MXC sandbox: native MXC is unavailable on this executor",
		},
		{"temporary directories", func(c *protocol.SandboxContext) {
			named := uris(other, foreign)
			c.TemporaryDirectories = &named
			c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, protocol.SpecialEntry(protocol.SpecialTmpdir, protocol.AccessWrite))
		}, "/tmp,/ws", "/other,/ws"},
	} {
		for _, files := range []bool{false, true} {
			c := asked(t, "read root", "write project")
			test.change(c)
			p, err := Resolve(Request{Context: c, Dir: "/ws", Env: []string{"TMPDIR=/tmp"}, Files: files}, newMemory("/ws/x", "/other/x", "/tmp/x"))
			var got string
			want := test.process
			if files {
				want = test.files
			}
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join(p.Writable, ",")
			}
			if got != want {
				t.Errorf("%s, files %v: %q, want %q", test.name, files, got, want)
			}
			if wire, ok := errors.AsType[*protocol.Error](err); err != nil && (!ok || (wire.Code == protocol.CodeInvalidRequest) != (files && want != dynamic)) {
				t.Errorf("%s, files %v: %#v", test.name, files, err)
			}
		}
	}
}

// TestGroundOfNoPolicy: a process whose files are not restricted is told what is wrong
// all the same, an operation is not.
func TestGroundOfNoPolicy(t *testing.T) {
	t.Parallel()
	foreign := uriOf(t, "/C:/x")
	c := protocol.FullAccessSandbox()
	c.CWD = &foreign
	if _, err := Resolve(Request{Context: c}, newMemory()); err == nil {
		t.Error("no error")
	}
	if p, err := Resolve(Request{Context: c, Files: true}, newMemory()); err != nil || p.Kind != Unconfined {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestKinds: how much is enforced, and what there is of a network.
func TestKinds(t *testing.T) {
	t.Parallel()
	profile := func(kind protocol.PermissionProfileType, files protocol.FileSystemPolicyType, network protocol.NetworkPolicy) *protocol.SandboxContext {
		c := protocol.FullAccessSandbox()
		c.Permissions.Type, c.Permissions.Network = kind, network
		if files != "" {
			c.Permissions.FileSystem = &protocol.FileSystemPolicy{Type: files}
		}
		return c
	}
	const on, off = protocol.NetworkEnabled, protocol.NetworkRestricted
	open := func(c *protocol.SandboxContext) *protocol.SandboxContext {
		c.Permissions.Network = on
		return c
	}
	proxy := &protocol.ManagedNetwork{LoopbackPorts: []uint16{8080, 9}}
	managed := func(c *protocol.SandboxContext) Request {
		return Request{Context: c, EnforceManaged: true, Managed: proxy, Env: []string{"HTTP_PROXY=http://127.0.0.1:8080"}}
	}
	type verdict struct {
		Kind    Kind
		Base    plan.Base
		Network Network
		Ports   []uint16
	}
	for _, test := range []struct {
		name string
		r    Request
		want verdict
	}{
		{"no sandbox", Request{}, verdict{}},
		{"disabled", Request{Context: protocol.FullAccessSandbox()}, verdict{}},
		{"external, network", Request{Context: profile(protocol.PermissionsExternal, "", on)}, verdict{}},
		{"external, none", Request{Context: profile(protocol.PermissionsExternal, "", off)}, verdict{Kind: Filtered, Network: NetworkOff}},
		{"unrestricted, none", Request{Context: profile(protocol.PermissionsManaged, protocol.FileSystemUnrestricted, off)}, verdict{Kind: Filtered, Network: NetworkOff}},
		{"root written, network", Request{Context: open(asked(t, "read root", "write root"))}, verdict{Isolated, plan.Writable, NetworkOpen, nil}},
		{"all written, network", Request{Context: open(asked(t, "write root", "write /ws"))}, verdict{}},
		{"all written, none", Request{Context: asked(t, "write root")}, verdict{Kind: Filtered, Network: NetworkOff}},
		{"read-only", Request{Context: asked(t, "read root")}, verdict{Isolated, plan.ReadOnly, NetworkOff, nil}},
		{"read-only, network", Request{Context: open(asked(t, "read root"))}, verdict{Isolated, plan.ReadOnly, NetworkOpen, nil}},
		{"nothing", Request{Context: asked(t)}, verdict{Isolated, plan.Nothing, NetworkOff, nil}},
		{"managed, disabled", managed(protocol.FullAccessSandbox()), verdict{Isolated, plan.Writable, NetworkManaged, []uint16{9, 8080}}},
		{"managed, all written", managed(asked(t, "write root")), verdict{Isolated, plan.Writable, NetworkManaged, []uint16{9, 8080}}},
		{"managed, read-only", managed(asked(t, "read root")), verdict{Isolated, plan.ReadOnly, NetworkManaged, []uint16{9, 8080}}},
		{"files", Request{Context: open(asked(t, "read root")), Files: true}, verdict{Isolated, plan.ReadOnly, NetworkOff, nil}},
		{"a proxy that is not enforced", Request{Context: open(asked(t, "read root")), Managed: proxy}, verdict{Isolated, plan.ReadOnly, NetworkOpen, nil}},
	} {
		p, err := Resolve(test.r, newMemory("/ws/x"))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, verdict{p.Kind, p.Base, p.Network, p.Ports}); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestManaged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env   string
		facts *protocol.ManagedNetwork
		want  string // the error
		ports []uint16
	}{
		{"HTTP_PROXY=http://127.0.0.1:8080", nil, "requires `managedNetwork`", nil},
		{"PATH=/bin", &protocol.ManagedNetwork{}, "managed proxy mode requires proxy environment variables", nil},
		{"HTTP_PROXY=", &protocol.ManagedNetwork{}, "managed proxy mode requires proxy environment variables", nil},
		{"HTTP_PROXY=http://example.com:1", &protocol.ManagedNetwork{}, "managed proxy mode requires parseable loopback proxy endpoints", nil},
		{"HTTP_PROXY=http://[::1]:1", &protocol.ManagedNetwork{}, "managed proxy mode requires parseable loopback proxy endpoints", nil},
		{"HTTP_PROXY=http://127.0.0.1:99999", &protocol.ManagedNetwork{}, "managed proxy mode requires parseable loopback proxy endpoints", nil},
		{"HTTP_PROXY=http://127.0.0.1:1", &protocol.ManagedNetwork{LoopbackPorts: []uint16{8080}}, "proxy endpoint is outside the managed sandbox context", nil},
		{"HTTP_PROXY=http://127.0.0.1:1", &protocol.ManagedNetwork{TransparentTCP: true}, "transparent TCP is not available", nil},
		{"HTTP_PROXY=http://127.0.0.1:1", &protocol.ManagedNetwork{LoopbackPorts: make([]uint16, 70_000)}, "outside", nil},
		{"HTTP_PROXY=http://127.0.0.1:1", &protocol.ManagedNetwork{LoopbackPorts: []uint16{0, 1}}, "port 0", nil},
		{"HTTP_PROXY=127.0.0.1:8080", &protocol.ManagedNetwork{}, "", []uint16{8080}},
		{"https_proxy=https://localhost", &protocol.ManagedNetwork{}, "", []uint16{443}},
		{"ALL_PROXY=socks5h://u:p@LOCALHOST/", &protocol.ManagedNetwork{}, "", []uint16{1080}},
		{"pip_proxy=http://127.0.0.1", &protocol.ManagedNetwork{LoopbackPorts: []uint16{81, 80}}, "", []uint16{80, 81}},
	} {
		p, err := Resolve(Request{Context: protocol.FullAccessSandbox(), EnforceManaged: true, Managed: test.facts, Env: []string{"A=b", test.env}}, newMemory())
		switch {
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %s", test.env, err, test.want)
		case test.want == "" && (err != nil || !slices.Equal(p.Ports, test.ports)):
			t.Errorf("%s: %+v, %v", test.env, p, err)
		}
	}
	many := &protocol.ManagedNetwork{}
	for port := range uint16(100) {
		many.LoopbackPorts = append(many.LoopbackPorts, port+1)
	}
	if _, err := Resolve(Request{Context: protocol.FullAccessSandbox(), EnforceManaged: true, Managed: many, Env: []string{"HTTP_PROXY=http://127.0.0.1:1"}}, newMemory()); err == nil {
		t.Error("100 ports are allowed")
	}
	if _, err := Resolve(Request{EnforceManaged: true, Managed: many}, newMemory()); err == nil {
		t.Error("a managed network without a sandbox is allowed")
	}
}

// TestSockets: with the network open, sockets may be reached where the client has named
// the place; not among everybody's temporary files.
func TestSockets(t *testing.T) {
	t.Parallel()
	c := asked(t, "read root", "write project", "write slash_tmp", "write tmpdir", "write /named", "read /ws/r", "deny /named/d")
	c.Permissions.Network = protocol.NetworkEnabled
	facts := &protocol.ManagedNetwork{AllowUnixSockets: []string{"/run/x.sock", "relative"}}
	p, err := Resolve(Request{Context: c, Env: []string{"TMPDIR=/var/t"}, Managed: facts}, newMemory("/ws/r/", "/tmp/x", "/var/t/x", "/named/d/"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan.Sockets{Paths: []string{"/run/x.sock", "/named", "/ws"}}, p.Sockets); diff != "" {
		t.Error(diff)
	}
	c.Permissions.Network = protocol.NetworkRestricted
	if p, err = Resolve(Request{Context: c, Managed: facts}, newMemory("/ws/")); err != nil || len(p.Sockets.Paths) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestOwn: what the executor needs can be read, and what is its own can't be written.
func TestOwn(t *testing.T) {
	t.Parallel()
	host := []string{"/ws/.git/x", "/ws/.codex/x", "/ws/.aws/x", "/ws/.agents/x", "/opt/ca.pem", "/opt/link -> ca.pem", "/ws/sock/s"}
	p, err := Resolve(Request{
		Context: asked(t, "write project"), Dir: "/ws", Readable: []string{"/opt/link", "/ws/sock", "/nope"}, Guarded: []string{"/ws/sock", "/opt", "/nope"},
	}, newMemory(host...))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"nothing", "link /opt/link -> ca.pem", "read /opt/ca.pem", "write /ws",
		"read /ws/.agents", "read /ws/.aws", "read /ws/.codex", "read /ws/.git", "read /ws/sock",
	}
	if diff := cmp.Diff(want, describe(p)); diff != "" {
		t.Error(diff)
	}
}

// TestDir: a command starts where it was asked for, if that can be seen.
func TestDir(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, home, want string }{
		{"/ws/sub", "/home", "/ws/sub"},
		{"/link", "/home", "/ws/sub"},
		{"/nope", "/home", "/nope"},
		{"/nope", "/ws", "/nope"},
		{"/ws/f", "/ws", "/ws/f"}, // so that it does not start at all
		{"/ws/f/x", "/ws", "/ws/f/x"},
		{"/loop", "/ws", "/loop"},
		{"/hidden", "/loop", "/"},
		{"/hidden", "/ws", "/ws"},
		{"/hidden", "/hidden", "/"},
		{"/hidden", "/ws/f", "/"},
		{"/hidden", "ws", "/"},
	} {
		p, err := Resolve(Request{Context: asked(t, "read /ws"), Dir: test.dir, Env: []string{"HOME=" + test.home}},
			newMemory("/ws/sub/", "/ws/f", "/link -> ws/sub", "/loop -> loop", "/hidden/"))
		if err != nil || p.Dir != test.want {
			t.Errorf("%s: %+v, %v; want %s", test.dir, p, err, test.want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	host := newMemory("/ws/.git/x", "/ws/s/x", "/link -> ws/s", "/tmp/x")
	for _, test := range []struct {
		path, access, decided, why string
	}{
		{"/ws/f", "write", "/ws", "entry 1 (write project_roots)"},
		{"/ws/.git/x", "read", "/ws/.git", "decided by the protection of .git below every directory that may be written (/ws), the longest path"},
		{"/ws/s/../s/x", "deny", "/ws/s", "entry 2 (deny path /ws/s)"},
		{"/link/x", "deny", "/ws/s", "without that, entry 1 (write project_roots) would say write"},
		{"/usr/x", "read", "/usr", "entry 0 (read path /usr)"},
		{"/etc", "none", "", "no entry contains it"},
		{"/proc/1", "none", "", "of its own"},
		{"/dev/kvm", "none", "", "of its own"},
	} {
		host.put("/usr", host.nodes["/"])
		v, err := Explain(Request{Context: asked(t, "read /usr", "write project", "deny /ws/s")}, host, test.path)
		if err != nil || v.Access != test.access || v.Decided != test.decided || !strings.Contains(v.Why, test.why) {
			t.Errorf("%s: %+v, %v", test.path, v, err)
		}
	}
	if v, err := Explain(Request{Context: protocol.FullAccessSandbox()}, host, "/x"); err != nil || v.Access != "write" {
		t.Errorf("%+v, %v", v, err)
	}
}
