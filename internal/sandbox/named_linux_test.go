package sandbox

import (
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestCheckPaths: what is wrong with a context is told without a look at the host, in
// the words of Resolve.
func TestCheckPaths(t *testing.T) {
	t.Parallel()
	foreign, err := protocol.ParsePathURI("file:///C:/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*protocol.SandboxContext)
		want   string
	}{
		{"nothing", func(*protocol.SandboxContext) {}, ""},
		{
			"the directory", func(c *protocol.SandboxContext) { c.CWD = &foreign },
			"failed to prepare process sandbox: invalid sandbox policy cwd: 'file:///C:/x' is invalid on 'linux'",
		},
		{
			"a root", func(c *protocol.SandboxContext) { c.WorkspaceRoots = append(c.WorkspaceRoots, foreign) },
			"failed to prepare process sandbox: invalid sandbox workspace root: 'file:///C:/x' is invalid on 'linux'",
		},
		{"an entry", func(c *protocol.SandboxContext) {
			f := c.Permissions.FileSystem
			f.Entries = append(f.Entries, protocol.PathEntry(foreign, protocol.AccessDeny))
		}, "failed to prepare process sandbox: invalid sandbox permission path: 'file:///C:/x' is invalid on 'linux'"},
	} {
		c := protocol.WorkspaceWriteSandbox(protocol.NetworkRestricted)
		test.change(c)
		got := ""
		if err := CheckPaths(c); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
