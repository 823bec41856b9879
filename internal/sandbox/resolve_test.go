package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/protocol"
)

// describe writes a plan a line for each mount, so that tests can tell what they want.
func describe(p *Plan) []string {
	if p.Kind != Isolated {
		return []string{[]string{"unconfined", "filtered"}[p.Kind]}
	}
	points := map[string]bool{}
	for _, point := range p.Points {
		points[point.Path] = true
	}
	lines := []string{map[plan.Base]string{plan.ReadOnly: "all read", plan.Writable: "all write", plan.Nothing: "nothing"}[p.Base]}
	for _, m := range p.Mounts {
		line := ""
		switch m.Kind {
		case plan.BindReadOnly:
			line = "read " + m.Path
		case plan.BindWritable:
			line = "write " + m.Path
		case plan.CoverDirectory:
			line = strings.TrimSpace(fmt.Sprintf("dir %03o %s %s", m.Mode, m.Path, strings.Join(m.Inner, " ")))
		case plan.CoverFile:
			line = fmt.Sprintf("file %03o %s", m.Mode, m.Path)
		case plan.CoverLink:
			line = "covered link " + m.Path
		case plan.Link:
			line = "link " + m.Path + " -> " + m.Target
		}
		if points[m.Path] {
			line += " (made)"
		}
		lines = append(lines, line)
	}
	return lines
}

func uriOf(t testing.TB, path string) protocol.PathURI {
	t.Helper()
	uri, err := protocol.ParsePathURI("file://" + path)
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

// asked makes a policy from entries like "read root", "write /ws", "deny *.env",
// "write project .git", with the workspace root /ws.
func asked(t testing.TB, entries ...string) *protocol.SandboxContext {
	t.Helper()
	c := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	for _, e := range entries {
		access, what, _ := strings.Cut(e, " ")
		a := protocol.SandboxAccess(access)
		var entry protocol.SandboxEntry
		switch name, subpath, isSub := strings.Cut(what, " "); {
		case strings.ContainsAny(what, "*?[:"):
			entry = protocol.GlobEntry(what, a)
		case strings.HasPrefix(what, "/"):
			entry = protocol.PathEntry(uriOf(t, what), a)
		case name == "project" && isSub:
			entry = protocol.ProjectEntry(subpath, a)
		case name == "project":
			entry = protocol.SpecialEntry(protocol.SpecialProjectRoots, a)
		case name == "cwd":
			entry = protocol.SpecialEntry(protocol.SpecialCurrentDirectory, a)
		default:
			entry = protocol.SpecialEntry(protocol.SpecialPathKind(what), a)
			unknown := "x"
			if what == "unknown" {
				entry.Path.Value.Path = &unknown
			}
		}
		c.Permissions.FileSystem.Entries = append(c.Permissions.FileSystem.Entries, entry)
	}
	ws := uriOf(t, "/ws")
	c.CWD, c.WorkspaceRoots = &ws, []protocol.PathURI{ws}
	return c
}

// names of protected directories that are not there.
const (
	noAgents = "dir 555 /ws/.agents (made)"
	noAWS    = "dir 555 /ws/.aws (made)"
	noCodex  = "dir 555 /ws/.codex (made)"
	noGit    = "dir 555 /ws/.git (made)"
)

func TestMounts(t *testing.T) {
	t.Parallel()
	none := []string{noAgents, noAWS, noCodex, noGit}
	lines := func(groups ...[]string) (all []string) {
		for _, g := range groups {
			all = append(all, g...)
		}
		return all
	}
	list := func(lines ...string) []string { return lines }
	for _, test := range []struct {
		name    string
		host    []string
		entries []string
		want    []string
	}{
		{"disabled network", nil, []string{"write root"}, list("filtered")},
		{"read-only", nil, []string{"read root"}, list("all read")},
		{"twice the root", []string{"/ws/", "/etc/"}, []string{"read root", "write root", "write /ws", "read /etc"}, list("all write", "dir 555 /.agents (made)", "dir 555 /.aws (made)", "dir 555 /.codex (made)", "dir 555 /.git (made)", "read /etc", "write /ws", noAgents, noAWS, noCodex, noGit)},
		{"root by its path", nil, []string{"write /"}, list("all write", "dir 555 /.agents (made)", "dir 555 /.aws (made)", "dir 555 /.codex (made)", "dir 555 /.git (made)")},
		{
			"workspace",
			[]string{"/ws/.git/config", "/ws/.codex/x", "/ws/.aws/"},
			[]string{"read root", "write project"},
			list("all read", "write /ws", noAgents, "dir 555 /ws/.aws (made)", "read /ws/.codex", "read /ws/.git"),
		},
		{
			"git writable",
			[]string{"/ws/.git/config"},
			[]string{"read root", "write project", "write project .git"},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "write /ws/.git"),
		},
		{
			"git writable and not there",
			[]string{"/ws/"},
			[]string{"read root", "write project", "write project .git"},
			list("all read", "write /ws", noAgents, noAWS, noCodex),
		},
		{
			"hooks writable",
			[]string{"/ws/.git/hooks/h"},
			[]string{"read root", "write project", "write /ws/.git/hooks"},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git", "write /ws/.git/hooks",
				"dir 555 /ws/.git/hooks/.agents (made)", "dir 555 /ws/.git/hooks/.aws (made)",
				"dir 555 /ws/.git/hooks/.codex (made)", "dir 555 /ws/.git/hooks/.git (made)"),
		},
		{
			"as the agent says it",
			[]string{"/ws/.git/config"},
			[]string{
				"read root", "write project", "read project .git", "read project .agents", "read project .codex", "read project .aws",
			},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git"),
		},
		{
			"read-only below",
			[]string{"/ws/sub/f"},
			[]string{"read root", "write project", "read /ws/sub", "read /ws/nope/x"},
			lines(list("all read", "write /ws"), none, list("file 444 /ws/nope (made)", "read /ws/sub")),
		},
		{
			"denied and not there",
			[]string{"/ws/"},
			[]string{"read root", "write project", "deny /ws/nope/x", "deny /etc/x"},
			lines(list("all read", "write /ws"), none, list("file 000 /ws/nope (made)")),
		},
		{
			"an earlier leftover",
			[]string{"/ws/nope = "},
			[]string{"read root", "write project", "deny /ws/nope/x"},
			lines(list("all read", "write /ws"), none, list("file 000 /ws/nope (made)")),
		},
		{
			"a file in the way",
			[]string{"/ws/nope"},
			[]string{"read root", "write project", "read /ws/nope/x"},
			lines(list("all read", "write /ws"), none, list("read /ws/nope")),
		},
		{
			"denied",
			[]string{"/ws/s/f", "/ws/.env", "/other/x"},
			[]string{"read root", "write project", "deny /ws/s", "deny /ws/.env", "deny /other"},
			list("all read", "dir 000 /other", "write /ws", noAgents, noAWS, noCodex, "file 000 /ws/.env", noGit, "dir 000 /ws/s"),
		},
		{
			"opened again",
			[]string{"/p/ws/d/f", "/p/r", "/p/q/"},
			[]string{"read root", "deny /p", "write /p/ws/d/f", "read /p/r", "read /p/q"},
			list("all read", "dir 111 /p q ws/d", "read /p/q", "read /p/r", "write /p/ws/d/f"),
		},
		{"deny wins", []string{"/ws/"}, []string{"write project", "read root", "deny project"}, list("all read", "dir 000 /ws")},
		{"a single file", []string{"/o/f"}, []string{"read root", "write /o/f"}, list("all read", "write /o/f")},
		{"a missing root", []string{"/ws/"}, []string{"read root", "write /nope"}, list("all read")},
		{
			"globs",
			[]string{"/ws/.env", "/ws/n/.env", "/ws/n/m/.env/", "/ws/n/m/x.env", "/ws/d -> n", "/ws/l.env -> n/plain", "/ws/n/plain", "/ws/g.env -> nope"},
			[]string{"read root", "write project", "deny **/*.env"},
			lines(list("all read", "write /ws", noAgents, noAWS, noCodex, "file 000 /ws/.env", noGit, "covered link /ws/l.env", "write /ws/n", "file 000 /ws/n/.env", "write /ws/n/m", "file 000 /ws/n/m/x.env", "file 000 /ws/n/plain")),
		},
		{
			"a glob of the roots",
			[]string{"/ws/.env", "/o/.env"},
			[]string{"read root", "deny codex-project-roots://**/*.env"},
			list("all read", "file 000 /ws/.env"),
		},
		{
			"a glob that leads out of the roots",
			[]string{"/ws/.env", "/o/.env"},
			[]string{"read root", "deny codex-project-roots://../o/*"},
			list("all read", "dir 000 /ws"),
		},
		{"a glob that allows", []string{"/ws/.env"}, []string{"read root", "write /ws/*"}, list("all read")},
		{
			"minimal",
			[]string{"/usr/bin/sh", "/bin -> usr/bin", "/lib -> /usr/lib", "/usr/lib/x", "/etc/passwd", "/ws/.git/x", "/ws/.codex/x", "/ws/.aws/x", "/ws/.agents/x"},
			[]string{"write minimal", "write project"},
			list("nothing", "link /bin -> usr/bin", "link /lib -> /usr/lib", "read /etc", "read /usr", "write /ws",
				"read /ws/.agents", "read /ws/.aws", "read /ws/.codex", "read /ws/.git"),
		},
		{
			"through a link",
			[]string{"/real/.git/x", "/real/.codex/x", "/real/.aws/x", "/real/.agents/x", "/link -> real"},
			[]string{"read root", "write /link"},
			list("all read", "write /real", "read /real/.agents", "read /real/.aws", "read /real/.codex", "read /real/.git"),
		},
		{
			"through a link, seeing nothing else",
			[]string{"/a/real/f", "/b/link -> ../a/real"},
			[]string{"read /b/link/f"},
			list("nothing", "link /b/link -> ../a/real", "read /a/real/f"),
		},
		{"a link denied", []string{"/a/real/f", "/b/link -> ../a/real"}, []string{"read root", "deny /b/link"}, list("all read", "dir 000 /a/real")},
		{"an empty policy", []string{"/ws/"}, nil, list("nothing")},
		{
			"own directories",
			[]string{"/dev/null", "/dev/shm/x", "/proc/1/x", "/proc/sys/x", "/dev/kvm"},
			[]string{"read root", "write /dev", "write /proc", "write /dev/shm", "deny /proc/1", "deny /proc/sys", "deny /dev/null", "deny /dev/kvm"},
			list("all read", "file 000 /dev/null", "write /dev/shm", "dir 555 /dev/shm/.agents (made)", "dir 555 /dev/shm/.aws (made)",
				"dir 555 /dev/shm/.codex (made)", "dir 555 /dev/shm/.git (made)", "dir 000 /proc/sys"),
		},
		{
			"temporary directories",
			[]string{"/tmp/.git/", "/var/t/.git/x"},
			[]string{"read root", "write slash_tmp", "write tmpdir"},
			list("all read", "write /tmp", "dir 555 /tmp/.agents (made)", "dir 555 /tmp/.aws (made)", "dir 555 /tmp/.codex (made)", "dir 555 /tmp/.git (made)",
				"write /var/t", "dir 555 /var/t/.agents (made)", "dir 555 /var/t/.aws (made)", "dir 555 /var/t/.codex (made)", "read /var/t/.git"),
		},
		{
			"subpaths that lead out",
			[]string{"/ws/x", "/etc/x"},
			[]string{"read root", "write project ../etc", "write project /etc", "write project .", "write project a/../x", "write unknown"},
			list("all read"),
		},
		{
			"the current directory is the roots",
			[]string{"/ws/.git/x", "/ws/.codex/x", "/ws/.aws/x", "/ws/.agents/x"},
			[]string{"read root", "write cwd"},
			list("all read", "write /ws", "read /ws/.agents", "read /ws/.aws", "read /ws/.codex", "read /ws/.git"),
		},
		{
			"a worktree",
			[]string{"/ws/.git = gitdir: ../o/gd\n", "/o/gd/HEAD"},
			[]string{"read root", "write project", "write slash_tmp"},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git"),
		},
		{
			"a repository inside",
			[]string{"/ws/.git = gitdir: gd\n", "/ws/gd/HEAD"},
			[]string{"read root", "write project"},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git", "read /ws/gd"),
		},
		{
			"a repository inside that is not there yet",
			[]string{"/ws/.git = gitdir: gd\n"},
			[]string{"read root", "write project"},
			list("all read", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git", "file 444 /ws/gd (made)"),
		},
		{
			"a repository among temporary files",
			[]string{"/ws/.git = gitdir: /tmp/gd\n", "/tmp/gd/HEAD"},
			[]string{"read root", "write project", "write slash_tmp"},
			list("all read", "write /tmp", "dir 555 /tmp/.agents (made)", "dir 555 /tmp/.aws (made)", "dir 555 /tmp/.codex (made)", "dir 555 /tmp/.git (made)", "read /tmp/gd",
				"write /ws", noAgents, noAWS, noCodex, "read /ws/.git"),
		},
		{
			"a worktree whose repository may be written",
			[]string{"/ws/.git = gitdir: /o/.git/worktrees/w\n", "/o/.git/worktrees/w/HEAD"},
			[]string{"read root", "write project", "write /o/.git"},
			list("all read", "write /o/.git", "write /ws", noAgents, noAWS, noCodex, "read /ws/.git"),
		},
		{
			"a link that commands can point elsewhere",
			[]string{"/ws/out -> /etc", "/etc/x", "/ws/in -> sub", "/ws/sub/"},
			[]string{"read root", "write project", "write /ws/out", "write /ws/in"},
			lines(list("all read", "write /ws"), none, list("write /ws/sub", "dir 555 /ws/sub/.agents (made)", "dir 555 /ws/sub/.aws (made)", "dir 555 /ws/sub/.codex (made)", "dir 555 /ws/sub/.git (made)")),
		},
		{
			"what leads there can't be moved",
			[]string{"/ws/a/b/secret/x", "/ws/a/b/c/f", "/ws/a/b/.env"},
			[]string{"read root", "write project", "deny /ws/a/b/secret", "write /ws/a/b/c", "deny **/.env"},
			lines(list("all read", "write /ws"), none, list("write /ws/a", "write /ws/a/b", "file 000 /ws/a/b/.env", "write /ws/a/b/c", "dir 555 /ws/a/b/c/.agents (made)", "dir 555 /ws/a/b/c/.aws (made)",
				"dir 555 /ws/a/b/c/.codex (made)", "dir 555 /ws/a/b/c/.git (made)", "dir 000 /ws/a/b/secret")),
		},
		{
			"what leads to what a pattern matches can't be moved",
			[]string{"/ws/conf/deep/k.pem", "/ws/conf/x", "/ws/other/x"},
			[]string{"read root", "write project", "deny conf/**/*.pem"},
			lines(list("all read", "write /ws"), none, list("write /ws/conf", "write /ws/conf/deep", "file 000 /ws/conf/deep/k.pem")),
		},
		{
			"a link that a pattern matches where nobody can write",
			[]string{"/ws/x", "/etc/l.env -> ../ws/x"},
			[]string{"read root", "write project", "deny /etc/*.env"},
			lines(list("all read", "write /ws"), none, list("file 000 /ws/x")),
		},
		{
			"a link to what is not there and back",
			[]string{"/ws/x", "/o/l -> nope/..", "/o/m -> nope/../../ws", "/o/x"},
			[]string{"read root", "write /o/l", "write /o/m", "deny /o/m/x"},
			list("all read"),
		},
		{
			"a link to what is not there and back, where commands could make it",
			[]string{"/ws/x", "/o/m -> ../ws/nope/../../secret", "/secret/x"},
			[]string{"read root", "write project", "deny /o/m"},
			lines(list("all read", "write /ws"), none, list("file 000 /ws/nope (made)")),
		},
		{"WSL", []string{"/run/WSL/1", "/ws/"}, []string{"read root"}, list("all read", "dir 000 /run/WSL")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := Resolve(Request{Context: asked(t, test.entries...), Dir: "/ws", Env: []string{"TMPDIR=/var/t"}}, newMemory(test.host...))
			if err != nil {
				t.Fatal(err)
			}
			got := describe(p)
			if w := enter(newMemory(test.host...), p); p.Kind == Isolated && len(w.faults) > 0 {
				t.Error(w.faults)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFaults: what is wrong with a policy is said in words that clients know.
func TestFaults(t *testing.T) {
	t.Parallel()
	host := []string{"/ws/a.env -> dir/f", "/ws/dir -> ../other2", "/other2/f", "/ws/lnk -> ../other", "/other/x", "/loop -> loop", "/ws2/.git -> x", "/ws3/.git = gitdir: lnk/gd", "/ws3/lnk -> ../other"}
	const process, files = "failed to prepare process sandbox: ", "failed to prepare fs sandbox: "
	for _, test := range []struct {
		entries []string
		change  func(*Request)
		want    string
	}{
		{
			[]string{"read root", "write project", "deny /ws/lnk/x"},
			nil,
			"cannot enforce sandbox deny-read path /ws/lnk/x because it crosses writable symlink /ws/lnk",
		},
		{
			[]string{"read root", "write project", "read /ws/lnk"},
			nil,
			"cannot enforce sandbox read-only path /ws/lnk because it crosses writable symlink /ws/lnk",
		},
		{
			[]string{"read root", "write /ws2"},
			nil,
			"cannot enforce sandbox read-only path /ws2/.git because it crosses writable symlink /ws2/.git",
		},
		{
			[]string{"read root", "write /ws3"},
			nil,
			"cannot enforce sandbox read-only path /ws3/lnk/gd because it crosses writable symlink /ws3/lnk",
		},
		{
			[]string{"read root", "write project", "deny /ws/lnk/*"},
			nil,
			"cannot enforce sandbox deny-read path /ws/lnk because it crosses writable symlink /ws/lnk",
		},
		{
			[]string{"read root", "write project", "deny *.env"},
			nil,
			"cannot enforce sandbox deny-read path /ws/a.env because it crosses writable symlink /ws/dir",
		},
		{
			[]string{"read root", "deny /**/.env"},
			nil,
			"unreadable glob `/**/.env` cannot be safely expanded; use a pattern with a non-root directory prefix",
		},
		{
			[]string{"read root", "deny codex-project-roots://f"},
			nil,
			"unreadable glob `/ws/f` cannot be safely expanded; use a pattern with a non-root directory prefix",
		},
		{[]string{"read root", "deny /loop"}, nil, "entry 1 (deny path /loop) can't be looked for: /loop leads through more than 40 symbolic links"},
		{[]string{"read root"}, func(r *Request) { r.EnforceManaged = true }, "managed proxy mode requires `managedNetwork`, which says where the proxy is"},
	} {
		for _, prefix := range []string{process, files} {
			r := Request{Context: asked(t, test.entries...), Dir: "/ws", Files: prefix == files}
			if test.change != nil {
				if test.change(&r); r.Files {
					continue
				}
			}
			_, err := Resolve(r, newMemory(host...))
			wire, ok := errors.AsType[*protocol.Error](err)
			if !ok || wire.Message != prefix+test.want {
				t.Errorf("%v: %v, want %s", test.entries, err, prefix+test.want)
			} else if kind := wire.Kind(); !r.Files && (wire.Code != protocol.CodeInvalidParams || kind != protocol.KindSandboxPreparation) ||
				r.Files && wire.Code != protocol.CodeInvalidRequest {
				t.Errorf("%v: code %d, kind %s", test.entries, wire.Code, kind)
			}
		}
	}
}
