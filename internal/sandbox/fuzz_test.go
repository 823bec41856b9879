package sandbox

import (
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// FuzzResolve: whatever a client asks for, there is an error of the wire, or a plan that
// can be made and holds.
func FuzzResolve(f *testing.F) {
	policy := func(entries string) []byte {
		return []byte(`{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` + entries +
			`]},"network":"enabled"},"cwd":"file:///ws","workspaceRoots":["file:///ws","file:///lnk"],"windowsSandboxLevel":"disabled"}`)
	}
	const (
		root  = `{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}`
		roots = `{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`
	)
	f.Add(policy(root), false)
	f.Add(policy(root+","+roots), true)
	f.Add(policy(`{"path":{"type":"special","value":{"kind":"minimal"}},"access":"read"},`+roots), false)
	f.Add(policy(root+`,{"path":{"type":"glob_pattern","pattern":"**/{.env,[a-c]*}"},"access":"deny"}`), false)
	f.Add(policy(roots+`,{"path":{"type":"path","path":"file:///ws/sub/x"},"access":"none"}`), true)
	f.Add(policy(root+`,{"path":{"type":"special","value":{"kind":"project_roots","subpath":"lnk/x"}},"access":"read"}`), false)
	f.Add([]byte(`{"permissions":{"type":"external","network":"restricted"},"windowsSandboxLevel":"mxc"}`), false)
	host := newMemory("/ws/.git = gitdir: sub/gd", "/ws/sub/gd/x", "/ws/.env", "/ws/lnk -> ../etc", "/lnk -> ws/sub", "/bin -> usr/bin",
		"/usr/bin/sh", "/etc/passwd", "/tmp/x", "/dev/null", "/proc/1/x", "/proc/self -> 1", "/loop -> loop", "/shut/x")
	host.shut["/shut"] = true
	f.Fuzz(func(t *testing.T, raw []byte, files bool) {
		c, err := protocol.Decode[*protocol.SandboxContext](raw)
		if err != nil || c == nil {
			return
		}
		p, err := Resolve(Request{Context: c, Dir: "/ws", Env: []string{"TMPDIR=/tmp"}, Files: files}, host)
		if err != nil {
			if _, ok := err.(*protocol.Error); !ok {
				t.Fatalf("%v is no error of the wire", err)
			}
			return
		}
		if p.Kind == Isolated {
			holds(t, host, c.Permissions.FileSystem.Entries, p)
		}
	})
}
