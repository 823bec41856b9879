package confined

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// TestKeyOfMountPoints: a worker is not taken for another one because others in the same
// place have mount points there, which come and go; only for what is really there.
func TestKeyOfMountPoints(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	uri, err := protocol.PathURIFromNative(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := protocol.WorkspaceWriteSandbox(protocol.NetworkRestricted, uri)
	missing, err := protocol.PathURIFromNative(filepath.Join(dir, "missing"))
	if err != nil {
		t.Fatal(err)
	}
	c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, protocol.PathEntry(missing, protocol.AccessDeny))
	c.CWD = &uri
	keys := func() [2]key {
		t.Helper()
		p, err := sandbox.Resolve(sandbox.Request{Context: c, Dir: dir, Files: true, Env: []string{"TMPDIR=" + dir}}, sandbox.OS())
		if err != nil {
			t.Fatal(err)
		}
		return [2]key{keyOf(p, 1), keyOf(looking(p), 1)}
	}
	mkdir := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := keys()
	mkdir(".git")
	mkdir(".codex")
	if keys() != before {
		t.Error("mount points make another confinement")
	}
	mkdir(".git/objects")
	if got := keys(); got[0] == before[0] {
		t.Error("a repository makes no other confinement")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if keys() != before {
		t.Error("what is gone makes another confinement")
	}
}
