package confined

import (
	"reflect"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestAsked: no parameters are overlooked that can ask for a confinement, else what
// they ask for would be done without one. And a worker knows of them all.
func TestAsked(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]bool{ // who confines these, if it has to be
		protocol.MethodProcessStart: true, protocol.MethodDiscoverRoots: true,
		protocol.MethodDiscoverCapabilities: true, protocol.MethodEnvironmentConfigRead: true,
	}
	seen := 0
	for _, m := range protocol.Contract() {
		if m.Params.Type.Kind() != reflect.Struct || elsewhere[m.Method] {
			continue
		}
		params := reflect.New(m.Params.Type)
		field := params.Elem().FieldByName("Sandbox")
		at := asked(params.Interface())
		switch {
		case !field.IsValid():
			if at != nil {
				t.Errorf("%s asks for a confinement, and can't", m.Method)
			}
		case at == nil || at != field.Addr().Interface():
			t.Errorf("%s can ask for a confinement, which is overlooked", m.Method)
		case operations[m.Method] == nil && m.Method != protocol.MethodWatch:
			t.Errorf("a worker knows nothing of %s", m.Method)
		default:
			seen++
		}
	}
	if seen != len(operations)+1 {
		t.Errorf("%d methods ask for a confinement, and %d are known", seen, len(operations)+1)
	}
}

// TestBare: a worker gets neither the confinement nor data, and the parameters stay
// as they are.
func TestBare(t *testing.T) {
	t.Parallel()
	const wire = `{"path":"file:///x","dataBase64":"AAAA","sandbox":{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}}`
	p, err := protocol.Decode[protocol.WriteFileParams]([]byte(wire))
	if err != nil {
		t.Fatal(err)
	}
	got, err := bare(&p)
	if want := `{"path":"file:///x","dataBase64":""}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if p.Sandbox == nil || len(p.DataBase64.Bytes) != 3 {
		t.Errorf("the parameters have become %+v", p)
	}
	q := protocol.ChmodParams{Path: p.Path, Mode: 1, Sandbox: p.Sandbox}
	got, err = bare(&q)
	if want := `{"path":"file:///x","mode":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if q.Sandbox != p.Sandbox {
		t.Error("the confinement has gone")
	}
}

// TestCheck: a policy that needs a directory comes with one, as the peer has it.
func TestCheck(t *testing.T) {
	t.Parallel()
	cwd, err := protocol.ParsePathURI("file:///w")
	if err != nil {
		t.Fatal(err)
	}
	root := protocol.SpecialEntry(protocol.SpecialRoot, protocol.AccessWrite)
	for name, test := range map[string]struct {
		entry protocol.SandboxEntry
		needs bool
	}{
		"nothing":           {root, false},
		"a path":            {protocol.PathEntry(cwd, protocol.AccessDeny), false},
		"roots":             {protocol.SpecialEntry(protocol.SpecialProjectRoots, protocol.AccessRead), true},
		"below roots":       {protocol.ProjectEntry(".git", protocol.AccessRead), true},
		"the directory":     {protocol.SpecialEntry(protocol.SpecialCurrentDirectory, protocol.AccessRead), true},
		"tmpdir":            {protocol.SpecialEntry(protocol.SpecialTmpdir, protocol.AccessWrite), false},
		"a relative glob":   {protocol.GlobEntry("*.env", protocol.AccessRead), true},
		"a glob of a root":  {protocol.GlobEntry("codex-project-roots://**/*.env", protocol.AccessDeny), true},
		"an absolute glob":  {protocol.GlobEntry("/w/*.env", protocol.AccessDeny), false},
		"something unknown": {protocol.SpecialEntry(protocol.SpecialUnknown, protocol.AccessWrite), false},
	} {
		for place, s := range map[string]func(*protocol.SandboxContext){
			"":                   func(*protocol.SandboxContext) {},
			" and no context":    func(s *protocol.SandboxContext) { s.PolicyContext = &protocol.SandboxPolicyContext{} },
			" with a directory":  func(s *protocol.SandboxContext) { s.CWD = &cwd },
			" and one in it":     func(s *protocol.SandboxContext) { s.PolicyContext = &protocol.SandboxPolicyContext{CWD: &cwd} },
			" of somebody else":  func(s *protocol.SandboxContext) { s.Permissions.Type = protocol.PermissionsManaged },
			" which is not read": func(s *protocol.SandboxContext) { s.UserHomeDir = &cwd },
		} {
			asked := protocol.RestrictedSandbox(protocol.NetworkRestricted, root, test.entry)
			s(asked)
			has := asked.CWD != nil || asked.PolicyContext != nil && asked.PolicyContext.CWD != nil
			err := Check(&protocol.ReadFileParams{Sandbox: asked})
			if refused := err != nil; refused != (test.needs && !has) {
				t.Errorf("%s%s: %v", name, place, err)
			}
		}
	}
	for _, params := range []any{
		&protocol.ReadFileParams{}, &protocol.CloseFileParams{},
		&protocol.ReadFileParams{Sandbox: protocol.FullAccessSandbox()},
	} {
		if err := Check(params); err != nil {
			t.Errorf("%T: %v", params, err)
		}
	}
}
