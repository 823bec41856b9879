package discover

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// find looks into folders, whose names are their ids.
func (h *host) find(names ...string) []protocol.DiscoveredRoot {
	h.t.Helper()
	params := &protocol.DiscoverRootsParams{}
	for _, name := range names {
		params.Roots = append(params.Roots, protocol.DiscoverRoot{ID: name, Path: h.uri(name)})
	}
	result, err := h.discoverer().Roots(h.t.Context(), params)
	if err != nil {
		h.t.Fatal(err)
	}
	return result.Roots
}

// outline is what is found in a folder, as lines to compare.
func (h *host) outline(root *protocol.DiscoveredRoot) []string {
	lines := []string{}
	file := func(kind string, file *protocol.CapabilityFile) {
		if file == nil {
			return
		}
		text := file.Contents
		if len(text) > 50 {
			text = fmt.Sprintf("%d bytes", len(text))
		}
		lines = append(lines, kind+" "+h.short(file.Path.String())+": "+text)
	}
	if root.Plugin != nil {
		file("manifest", &root.Plugin.Manifest)
		file("mcp", root.Plugin.MCPConfig)
		file("apps", root.Plugin.AppsConfig)
	}
	for _, manifest := range root.NamespaceManifests {
		file("namespace", &manifest)
	}
	for _, skill := range root.Skills {
		file("skill", &skill.Instructions)
		file("metadata", skill.Metadata)
	}
	for _, warning := range root.Warnings {
		lines = append(lines, "warning: "+h.short(warning))
	}
	if root.Error != nil {
		lines = append(lines, "error: "+h.short(*root.Error))
	}
	return lines
}

func TestRoots(t *testing.T) {
	t.Parallel()
	const manifest = ".codex-plugin/plugin.json"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"an empty folder", map[string]string{"r/x": ""}, nil},
		{"no folder", nil, []string{"error: failed to inspect capability root @/r: " + noSuchFile}},
		{"a file", map[string]string{"r": ""}, []string{"error: capability root @/r is not a directory"}},
		{
			"a plugin",
			map[string]string{
				"r/" + manifest: `{"mcpServers": "././m.json", "apps": "./a b/apps%20.json"}`, "r/m.json": "m", "r/a b/apps%20.json": "a",
				"r/.mcp.json": "no", "r/.app.json": "no", "r/skills/s/SKILL.md": "s", "r/skills/s/agents/openai.yaml": "y",
			},
			[]string{
				"manifest @/r/.codex-plugin/plugin.json: 58 bytes", "mcp @/r/m.json: m", "apps @/r/a%20b/apps%2520.json: a",
				"namespace @/r/.codex-plugin/plugin.json: 58 bytes", "skill @/r/skills/s/SKILL.md: s", "metadata @/r/skills/s/agents/openai.yaml: y",
			},
		},
		{
			"what is not said",
			map[string]string{"r/" + manifest: "{", "r/.mcp.json": "m", "r/.app.json": "a"},
			[]string{"manifest @/r/.codex-plugin/plugin.json: {", "mcp @/r/.mcp.json: m", "apps @/r/.app.json: a", "namespace @/r/.codex-plugin/plugin.json: {"},
		},
		{
			"servers in the manifest",
			map[string]string{"r/" + manifest: `{"mcpServers":{}, "apps":{}}`, "r/.mcp.json": "m", "r/.app.json": "a"},
			[]string{
				`manifest @/r/.codex-plugin/plugin.json: {"mcpServers":{}, "apps":{}}`, "apps @/r/.app.json: a",
				`namespace @/r/.codex-plugin/plugin.json: {"mcpServers":{}, "apps":{}}`,
			},
		},
		{
			"which manifest counts",
			map[string]string{
				"r/.claude-plugin/plugin.json": "2", "r/.cursor-plugin/plugin.json": "3", "r/" + manifest + "/x": "",
				"r/n/.cursor-plugin/plugin.json": "5", "r/n/.claude-plugin/plugin.json": "4", "r/b/" + manifest: "1", manifest: "no",
			},
			[]string{
				"manifest @/r/.claude-plugin/plugin.json: 2", "namespace @/r/.claude-plugin/plugin.json: 2",
				"namespace @/r/b/.codex-plugin/plugin.json: 1", "namespace @/r/n/.claude-plugin/plugin.json: 4",
			},
		},
		{
			"a manifest above",
			map[string]string{"r/x": "", manifest: "above"},
			[]string{"namespace @/.codex-plugin/plugin.json: above"},
		},
		{
			"the order of skills",
			map[string]string{"r/SKILL.md": "0", "r/a/SKILL.md": "a", "r/.h/SKILL.md": "h", "r/a/1/SKILL.md": "1", "r/b/skill.MD/SKILL.md": "b", "r/SKILL.mdx": "", "r/c/SKILL.md/x": ""},
			[]string{"skill @/r/.h/SKILL.md: h", "skill @/r/SKILL.md: 0", "skill @/r/a/1/SKILL.md: 1", "skill @/r/a/SKILL.md: a", "skill @/r/b/skill.MD/SKILL.md: b"},
		},
		{
			"how deep",
			map[string]string{"r/1/2/3/4/5/6/SKILL.md": "6", "r/1/2/3/4/5/6/7/SKILL.md": "7"},
			[]string{"skill @/r/1/2/3/4/5/6/SKILL.md: 6"},
		},
		{
			"what is wrong with files",
			map[string]string{
				"r/" + manifest: `{"mcpServers":"x","apps":"./.."}`, "r/.mcp.json": "\xff", "r/.app.json": "a\xffb",
				"r/n/" + manifest: "\xe4\xbc", "r/a/SKILL.md": "a", "r/a/agents/openai.yaml/x": "",
				"r/b/SKILL.md": strings.Repeat("x", limits.DiscoveryFileBytes+1), "r/c/SKILL.md": strings.Repeat("x", limits.DiscoveryFileBytes),
			},
			[]string{
				`manifest @/r/.codex-plugin/plugin.json: {"mcpServers":"x","apps":"./.."}`, `namespace @/r/.codex-plugin/plugin.json: {"mcpServers":"x","apps":"./.."}`,
				"skill @/r/a/SKILL.md: a", "skill @/r/c/SKILL.md: 1048576 bytes",
				"warning: capability file @/r/n/.codex-plugin/plugin.json is not UTF-8: invalid utf-8 sequence from index 0",
				"warning: ignoring mcpServers in @/r/.codex-plugin/plugin.json: path must start with `./`",
				"warning: ignoring apps in @/r/.codex-plugin/plugin.json: path must remain below the capability root",
				"warning: capability file @/r/.mcp.json is not UTF-8: invalid utf-8 sequence from index 0",
				"warning: capability file @/r/.app.json is not UTF-8: invalid utf-8 sequence from index 1",
				"warning: capability file @/r/b/SKILL.md exceeds the 1048576-byte limit",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, test.files)
			if diff := cmp.Diff(append([]string{}, test.want...), h.outline(&h.find("r")[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRootsInOrder asserts that folders are answered in the order of the request,
// whatever is wrong with some, and the same one as often as it is asked for.
func TestRootsInOrder(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"a/SKILL.md": "a", "b/SKILL.md": "b"})
	var names []string
	for i := range limits.DiscoveryRoots {
		names = append(names, []string{"a", "none", "b"}[i%3])
	}
	for i, root := range h.find(names...) {
		if root.ID != names[i] || root.Path != h.uri(names[i]) || (root.Error == nil) != (len(root.Skills) == 1) || (root.Error != nil) != (names[i] == "none") {
			t.Errorf("%s: %+v", names[i], root)
		}
	}
	_, err := h.discoverer().Roots(t.Context(), &protocol.DiscoverRootsParams{Roots: make([]protocol.DiscoverRoot, limits.DiscoveryRoots+1)})
	wireError(t, err, protocol.CodeInvalidRequest, "capability root discovery accepts at most 128 roots")
}

// TestRootsConfined asserts that a folder is not touched if that is to be done under
// a confinement, and that others are.
func TestRootsConfined(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"a/SKILL.md": "a"})
	params := func(sandbox *protocol.SandboxContext) *protocol.DiscoverRootsParams {
		return &protocol.DiscoverRootsParams{Roots: []protocol.DiscoverRoot{
			{ID: "1", Path: h.uri("a"), Sandbox: sandbox}, {ID: "2", Path: h.uri("a")},
		}}
	}
	result, err := h.discoverer().Roots(t.Context(), params(protocol.RestrictedSandbox(protocol.NetworkRestricted)))
	if err != nil {
		t.Fatal(err)
	}
	if first := result.Roots[0]; first.Error == nil || !strings.Contains(*first.Error, "sandbox") || len(first.Skills) > 0 {
		t.Errorf("%+v", first)
	}
	if second := result.Roots[1]; len(second.Skills) != 1 {
		t.Errorf("%+v", second)
	}
	if result, err = h.discoverer().Roots(t.Context(), params(protocol.FullAccessSandbox())); err != nil || len(result.Roots[0].Skills) != 1 {
		t.Errorf("%+v, error %v", result, err)
	}
}

// TestRootsBytes asserts that the files of one folder are bounded, and those of all.
func TestRootsBytes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"r/z/SKILL.md": "small"}
	for i := range limits.DiscoveryRootBytes/limits.DiscoveryFileBytes + 1 {
		files[fmt.Sprintf("r/%02d/SKILL.md", i)] = strings.Repeat("x", limits.DiscoveryFileBytes)
	}
	h := newHost(t, files)
	root := h.find("r")[0]
	const bundle = "capability root bundle exceeds the 16777216-byte limit"
	if diff := cmp.Diff([]string{bundle, bundle}, root.Warnings); diff != "" || len(root.Skills) != 16 {
		t.Errorf("%d skills, %s", len(root.Skills), diff)
	}
	// Together they would have 80 MiB.
	roots := h.find("r", "r", "r", "r", "r")
	encoded, err := protocol.Encode(&protocol.DiscoverRootsResult{Roots: roots})
	if err != nil || len(encoded) > limits.DiscoveryAnswerBytes || len(encoded) < limits.DiscoveryAnswerBytes*9/10 {
		t.Errorf("%d bytes, error %v", len(encoded), err)
	}
}

// TestRoom asserts that what an answer takes is not underestimated, whatever it
// consists of.
func TestRoom(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "\x00\x1f\n\"\\\u2028é", strings.Repeat("\x01", 100), "</script>&"} {
		encoded, err := protocol.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodedLen(text) + 2; got < int64(len(encoded)) { // and two quotes
			t.Errorf("%q: %d, encoded %d", text, got, len(encoded))
		}
	}
	b := newBundle(newRoom())
	b.room.left.Store(200)
	b.warn("%s", strings.Repeat("x", 50))
	b.warn("%s", strings.Repeat("x", 50))
	if len(b.warnings) != 1 || !b.cut {
		t.Errorf("%d warnings, cut %v", len(b.warnings), b.cut)
	}
}

// TestRootsEntries asserts that a folder with too much in it is looked at in part,
// and that this is said.
func TestRootsEntries(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"r/b/SKILL.md": "b"})
	for i := range limits.DiscoveryDirectories {
		h.write(fmt.Sprintf("r/a/%d/x", i), "")
	}
	root := h.find("r")[0]
	if want := "capability scan reached its traversal limit (root: " + h.uri("r").String() + ")"; len(root.Warnings) != 1 || root.Warnings[0] != want {
		t.Errorf("%q", root.Warnings)
	}
}

// TestRootsThroughLinks asserts that folders behind symbolic links are looked into,
// but not twice, and that files in the place of which there is a link count where
// they are known by name only.
func TestRootsThroughLinks(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"x/SKILL.md": "x", "x/y.yaml": "y", "r/s/SKILL.md": "s"})
	h.link("x", "r/l")
	h.link("r", "r/s/loop")
	h.link("x/SKILL.md", "r/t/SKILL.md")
	h.link("x/y.yaml", "r/s/agents/openai.yaml")
	h.link("gone", "r/l/.mcp.json")
	want := []string{"skill @/r/l/SKILL.md: x", "skill @/r/s/SKILL.md: s", "metadata @/r/s/agents/openai.yaml: y"}
	if diff := cmp.Diff(want, h.outline(&h.find("r")[0])); diff != "" {
		t.Error(diff)
	}
}

func TestRootsCancelled(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"r/SKILL.md": ""})
	d := h.discoverer()
	params := &protocol.DiscoverRootsParams{Roots: []protocol.DiscoverRoot{{Path: h.uri("r")}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Roots(ctx, params); err == nil {
		t.Error("no error")
	}
	for range limits.DiscoveryRequests {
		if _, err := d.turns.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Roots(ctx, params); err == nil { // while others are at it
		t.Error("no error")
	}
	if _, err := d.Installed(ctx, &protocol.DiscoverCapabilitiesParams{}); err == nil {
		t.Error("no error")
	}
	if _, err := d.ReadConfig(ctx, &protocol.EnvironmentConfigReadParams{CWD: h.uri("r"), ConfigPaths: [][]string{{"a"}}}); err == nil {
		t.Error("no error")
	}
}

// TestNamed asserts where a manifest can say that a file is.
func TestNamed(t *testing.T) {
	t.Parallel()
	const start, below = "path must start with `./`", "path must remain below the capability root"
	for value, want := range map[string]struct{ path, warning string }{
		`"./a.json"`: {path: "a.json"}, `"./a//b/./c"`: {path: "a/b/c"}, `"./..."`: {path: "..."}, `"./a%2e%2e"`: {path: "a%2e%2e"},
		`null`: {}, `3`: {}, `{}`: {}, `["./a"]`: {}, ``: {},
		`"a.json"`: {warning: start}, `"/a"`: {warning: start}, `""`: {warning: start}, `"."`: {warning: start}, `" ./a"`: {warning: start}, `".\\a"`: {warning: start},
		`"./"`: {warning: below}, `"./."`: {warning: below}, `"./../a"`: {warning: below}, `"./a/../b"`: {warning: below}, `"./a/.."`: {warning: below},
	} {
		b := newBundle(newRoom())
		members := map[string]jsontext.Value{"member": jsontext.Value(value)}
		got := b.named(&protocol.CapabilityFile{Path: uri(t.TempDir())}, members, "member", "fallback")
		if want.path == "" {
			want.path = "fallback"
		}
		if got != want.path || (want.warning == "") != (len(b.warnings) == 0) || want.warning != "" && !strings.HasSuffix(b.warnings[0], want.warning) {
			t.Errorf("%s: %q, warnings %q", value, got, b.warnings)
		}
	}
}

// FuzzNamed asserts that a manifest can't name a file that is not below its folder.
func FuzzNamed(f *testing.F) {
	for _, path := range []string{"./a/b", "./%2e%2e/x", "./\\..\\..\\x", "./C:/x", "./a?b#c", "./\t./x", "./a\x00b", "./ "} {
		f.Add(path)
	}
	root := uri(f.TempDir())
	f.Fuzz(func(t *testing.T, path string) {
		quoted, err := jsontext.AppendQuote(nil, path)
		if err != nil {
			return
		}
		b := newBundle(newRoom())
		names := b.named(&protocol.CapabilityFile{Path: root}, map[string]jsontext.Value{"m": quoted}, "m", "fallback")
		joined, err := join(root, names)
		if err != nil {
			return
		}
		native, err := joined.Native()
		dir, _ := root.Native()
		if err == nil && (!strings.HasPrefix(native, dir) || len(native) <= len(dir)+1) {
			t.Fatalf("%q leads to %q, outside of %q", path, native, dir)
		}
	})
}
