package sandbox

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

var components = []string{"a", "b", ".git", ".codex", "f"}

// drawTree makes a host, with links or without.
func drawTree(t *rapid.T, links bool) *memory {
	var names []string
	files := map[string]bool{}
	kinds := []string{"file", "directory", "directory"}
	if links {
		kinds = append(kinds, "link")
	}
	for range rapid.IntRange(1, 14).Draw(t, "nodes") {
		name := ""
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			if name += "/" + rapid.SampledFrom(components).Draw(t, "component"); files[name] {
				break
			}
		}
		if slices.ContainsFunc(names, func(other string) bool { return within(other, name) }) {
			continue
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "file":
			files[name] = true
			names = append(names, name)
		case "directory":
			names = append(names, name+"/")
		case "link":
			files[name] = true
			names = append(names, name+" -> "+rapid.SampledFrom([]string{"a", "../b", "/a/b", "/f", "..", "/nope", ".git"}).Draw(t, "target"))
		}
	}
	return newMemory(names...)
}

// drawEntries makes entries about what is there, and about what could be made.
func drawEntries(t *rapid.T, host *memory) []protocol.SandboxEntry {
	nodes := slices.Sorted(maps.Keys(host.nodes))
	accesses := []protocol.SandboxAccess{protocol.AccessRead, protocol.AccessWrite, protocol.AccessWrite, protocol.AccessDeny}
	var all []protocol.SandboxEntry
	for range rapid.IntRange(0, 6).Draw(t, "entries") {
		name := rapid.SampledFrom(nodes).Draw(t, "path")
		if host.nodes[name].Mode.IsDir() && rapid.Bool().Draw(t, "missing") {
			inner := rapid.SampledFrom([]string{"new", "new/x", ".git", ".codex/x"}).Draw(t, "new")
			if between := host.nodes[parent(join(name, inner))]; between == nil || between.Mode.IsDir() {
				name = join(name, inner) // what goes through a file is for TestMounts
			}
		}
		uri, err := protocol.PathURIFromNative(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, protocol.PathEntry(uri, rapid.SampledFrom(accesses).Draw(t, "access")))
	}
	return all
}

// naive says by the words of the policy what may be done with a path that is there, on
// a host without links.
func naive(t *rapid.T, host *memory, entries []protocol.SandboxEntry, name string) grade {
	at := map[string]grade{}
	granted := map[string]bool{}
	for _, e := range entries {
		path, err := e.Path.Path.Native()
		if err != nil {
			t.Fatal(err)
		}
		granted[path] = granted[path] || e.Access == protocol.AccessWrite
		if host.nodes[path] != nil {
			at[path] = max(at[path], gradeOf(e.Access))
		}
	}
	for root, g := range maps.Clone(at) {
		if g != writable || !host.nodes[root].Mode.IsDir() || isProtected(root) {
			continue
		}
		for _, p := range protected {
			if inner := join(root, p); !granted[inner] {
				at[inner] = max(at[inner], readable)
			}
		}
	}
	for {
		if g := at[name]; g != 0 || name == "/" {
			return g
		}
		name = parent(name)
	}
}

// TestAgreesWithTheWords: what can be done in the world that the mounts of a plan make is
// what the longest entry says.
func TestAgreesWithTheWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		host := drawTree(t, false)
		entries := drawEntries(t, host)
		p, err := Resolve(Request{Context: protocol.RestrictedSandbox(protocol.NetworkRestricted, entries...), Dir: "/"}, host)
		if err != nil {
			t.Fatal(err)
		}
		w := enter(host, p)
		if len(w.faults) > 0 {
			t.Fatal(w.faults)
		}
		for name := range host.nodes {
			want, got := naive(t, host, entries, name), w.grade(name)
			if want == denied {
				want = 0
			}
			if got == denied {
				got = 0
			}
			if got != want {
				t.Fatalf("%s: %s, want %s by %v\n%v", name, got, want, describeEntries(entries), describe(p))
			}
		}
		// What is not there can't be made to be what an entry is about.
		for _, e := range entries {
			name, _ := e.Path.Path.Native()
			if e.Access != protocol.AccessWrite && w.grade(name) == writable && naive(t, host, entries, name) != writable {
				t.Fatalf("%s can be made, against %v\n%v", name, describeEntries(entries), describe(p))
			}
			if host.nodes[name] == nil && e.Access == protocol.AccessDeny && w.grade(name) == writable {
				t.Fatalf("%s, which is denied, can be made\n%v", name, describe(p))
			}
		}
	})
}

func describeEntries(entries []protocol.SandboxEntry) (all []string) {
	for _, e := range entries {
		all = append(all, string(e.Access)+" "+e.Path.Path.String())
	}
	return all
}

// TestLinks: whatever links there are, mounts can be made, nothing that is denied can be
// read, and nothing that may only be read be written; a link that the command can change
// has no part in that.
func TestLinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		host := drawTree(t, true)
		entries := drawEntries(t, host)
		p, err := Resolve(Request{Context: protocol.RestrictedSandbox(protocol.NetworkRestricted, entries...), Dir: "/"}, host)
		if err != nil {
			return // which is what happens if it can't be held
		}
		holds(t, host, entries, p)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// holds asserts what is promised of each single entry.
func holds(t fataler, host *memory, entries []protocol.SandboxEntry, p *Plan) {
	w := enter(host, p)
	if len(w.faults) > 0 {
		t.Fatalf("%v\n%v", w.faults, describe(p))
	}
	written := map[string]bool{}
	var places []*place
	for _, e := range entries {
		var at *place
		if e.Path.Type == protocol.SandboxPathExact {
			name, err := e.Path.Path.Native()
			if err != nil {
				t.Fatalf("%v", err)
			}
			if at, err = locate(host, name); err != nil {
				t.Fatalf("%v", err)
			}
			written[at.real] = written[at.real] || e.Access == protocol.AccessWrite
		}
		places = append(places, at)
	}
	for i, e := range entries {
		at := places[i]
		if at == nil || within(at.real, "/dev") || within(at.real, "/proc") {
			continue
		}
		if at.missing() && !at.info.IsDir() {
			continue // a file is in the way: TestMounts has that
		}
		got := w.grade(at.real)
		switch {
		case gradeOf(e.Access) == denied && (got == readable && !at.missing() || got == writable):
			t.Fatalf("%s is denied, and can be accessed: %s\n%v", at.real, got, describe(p))
		case e.Access == protocol.AccessRead && got == writable && !written[at.real]:
			t.Fatalf("%s may only be read, and can be written\n%v", at.real, describe(p))
		}
	}
}
