package sandbox

import (
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestConfines: an operation need not be confined if nothing restricts it, or only what
// it does not do.
func TestConfines(t *testing.T) {
	t.Parallel()
	profile := func(p protocol.PermissionProfile) *protocol.SandboxContext {
		return &protocol.SandboxContext{Permissions: p, WindowsSandboxLevel: protocol.WindowsSandboxDisabled}
	}
	for _, test := range []struct {
		name        string
		c           *protocol.SandboxContext
		read, write bool
	}{
		{"no sandbox", nil, false, false},
		{"disabled", protocol.FullAccessSandbox(), false, false},
		{"external", profile(protocol.PermissionProfile{Type: protocol.PermissionsExternal}), false, false},
		{"unrestricted", profile(protocol.PermissionProfile{
			Type: protocol.PermissionsManaged, FileSystem: &protocol.FileSystemPolicy{Type: protocol.FileSystemUnrestricted},
		}), false, false},
		{"all written", asked(t, "write root"), false, false},
		{"all read", asked(t, "read root"), false, true},
		{"workspace", asked(t, "read root", "write /w"), false, true},
		{"less written", asked(t, "write root", "read /w"), false, true},
		{"less read", asked(t, "write root", "deny /w"), true, true},
		{"a pattern", asked(t, "read root", "none *.env"), true, true},
		{"minimal", asked(t, "write minimal"), true, true},
		{"nothing", asked(t), true, true},
	} {
		if got := Confines(test.c, Read); got != test.read {
			t.Errorf("%s: reading: %v", test.name, got)
		}
		if got := Confines(test.c, Write); got != test.write {
			t.Errorf("%s: writing: %v", test.name, got)
		}
		if got := CheckFiles(test.c, Read|Write) != nil; got != test.write {
			t.Errorf("%s: both: %v", test.name, got)
		}
	}
}
