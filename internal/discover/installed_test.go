package discover

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func (h *host) installed() *protocol.DiscoverCapabilitiesResult {
	h.t.Helper()
	result, err := h.discoverer().Installed(h.t.Context(), &protocol.DiscoverCapabilitiesParams{CWD: h.uri("w")})
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// list is what is installed, as lines to compare.
func (h *host) list() []string {
	h.t.Helper()
	lines := []string{}
	skill := func(s protocol.InstalledSkill) {
		id := protocol.DiscoveryRootID("plugin")
		if s.DiscoveryRoot != nil {
			id = s.DiscoveryRoot.ID
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s (%s)", id, s.Name, s.Description, h.short(s.Path.String())))
	}
	found := h.installed()
	for _, plugin := range found.Plugins {
		remote := ""
		if plugin.RemotePluginID != nil {
			remote = " from " + *plugin.RemotePluginID
		}
		lines = append(lines, fmt.Sprintf("%s %s %q%s (%s)", plugin.ID, *plugin.Version, plugin.DisplayName, remote, h.short(plugin.Root.String())))
		for _, s := range plugin.Skills {
			skill(s)
		}
	}
	for _, s := range found.Skills {
		skill(s)
	}
	return append(lines, found.Warnings...)
}

const cache = "home/.codex/plugins/cache/"

func TestInstalled(t *testing.T) {
	t.Parallel()
	const manifest = "/.codex-plugin/plugin.json"
	named := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", nil, nil},
		{"skills of the Codex home, the user and the system", map[string]string{
			"etc/skills/e/SKILL.md": named("system"), "home/.agents/skills/a/SKILL.md": named("agents"), "home/.codex/skills/.system/c/SKILL.md": named("codex"),
			"w/.agents/skills/w/SKILL.md": named("project"),
		}, []string{
			"codex-home-skills codex: d (@/home/.codex/skills/.system/c/SKILL.md)", "user-agent-skills agents: d (@/home/.agents/skills/a/SKILL.md)",
			"system-skills system: d (@/etc/skills/e/SKILL.md)",
		}},
		{
			"one that makes no sense",
			map[string]string{"home/.codex/skills/a/SKILL.md": "x", "home/.codex/skills/b/SKILL.md": named("b")},
			[]string{"codex-home-skills b: d (@/home/.codex/skills/b/SKILL.md)", metadataLost},
		},
		{"namespaces", map[string]string{
			"home/.codex/skills" + manifest: `{"name":"outer"}`, "home/.codex/skills/a" + manifest: `{"name":"inner"}`, "home/.codex/skills/a/s/SKILL.md": named("s"),
			"home/.codex/skills/b/SKILL.md": named("t"), "home/.codex/skills/c" + manifest: `{`, "home/.codex/skills/c/SKILL.md": named("u"),
			"home/.codex/skills/d" + manifest: `{}`, "home/.codex/skills/d/SKILL.md": named("v"), "home/.codex/skills/e" + manifest: `{"name":3}`, "home/.codex/skills/e/SKILL.md": named("w"),
			"home/.codex/skills/f" + manifest: `{"name":"` + strings.Repeat("n", 128) + `"}`, "home/.codex/skills/f/SKILL.md": named("too-long"),
		}, []string{
			"codex-home-skills inner:s: d (@/home/.codex/skills/a/s/SKILL.md)", "codex-home-skills outer:t: d (@/home/.codex/skills/b/SKILL.md)",
			"codex-home-skills outer:u: d (@/home/.codex/skills/c/SKILL.md)", "codex-home-skills d:v: d (@/home/.codex/skills/d/SKILL.md)",
			"codex-home-skills outer:w: d (@/home/.codex/skills/e/SKILL.md)", metadataLost,
		}},
		{"plugins", map[string]string{
			cache + "m/b/1.9.0" + manifest: `{"name":"x"}`, cache + "m/b/1.10.0" + manifest: `{"name":"x","interface":{"displayName":" X y "}}`,
			cache + "m/b/1.10.0/skills/s/SKILL.md": named("s"), cache + "m/b/1.10.0/SKILL.md": "x",
			cache + "m/b/.codex-remote-plugin-install.json": `{"schema_version":1,"remote_plugin_id":"plugins~b"}`,
			cache + "l/a/local/.claude-plugin/plugin.json":  `{}`, cache + "l/a/9.9.9" + manifest: `{}`,
			cache + "m n/c/1" + manifest: `{}`, cache + ".h/c/1" + manifest: `{}`, cache + "m/c/a b" + manifest: `{}`, cache + "m/d/file": "",
		}, []string{
			`a@l local "local" (@/home/.codex/plugins/cache/l/a/local)`, `b@m 1.10.0 "X y" from plugins~b (@/home/.codex/plugins/cache/m/b/1.10.0)`,
			"plugin x:s: d (@/home/.codex/plugins/cache/m/b/1.10.0/skills/s/SKILL.md)", metadataLost,
		}},
		{"a plugin without a manifest", map[string]string{cache + "m/a/1/x": ""}, []string{metadataLost}},
		{"a plugin whose manifest is none", map[string]string{cache + "m/a/1" + manifest: "[]"}, []string{metadataLost}},
		{
			"a plugin from where nobody knows",
			map[string]string{cache + "m/a/1" + manifest: "{}", cache + "m/a/.codex-remote-plugin-install.json": `{"schema_version":2,"remote_plugin_id":"a"}`},
			[]string{`a@m 1 "1" (@/home/.codex/plugins/cache/m/a/1)`, locationsLost},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(append([]string{}, test.want...), newHost(t, test.files).list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInstalledFiles asserts that the servers in a manifest are told like a file.
func TestInstalledFiles(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{
		cache + "m/a/1/.codex-plugin/plugin.json": `{"mcpServers": {"x": {"url": "u"}}}`, cache + "m/a/1/.mcp.json": "no", cache + "m/a/1/.app.json": "apps",
	})
	files := h.installed().Plugins[0].Files
	path := h.uri(cache + "m/a/1/.codex-plugin/plugin.json")
	if diff := cmp.Diff(&protocol.CapabilityFile{Path: path, Contents: `{"x":{"url":"u"}}`}, files.MCPConfig, uris); diff != "" {
		t.Error(diff)
	}
	if files.AppsConfig.Contents != "apps" || files.Manifest.Path != path {
		t.Errorf("%+v", files)
	}
}

func TestInstalledConfined(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	_, err := h.discoverer().Installed(t.Context(), &protocol.DiscoverCapabilitiesParams{
		CWD: h.uri("w"), Sandbox: protocol.RestrictedSandbox(protocol.NetworkRestricted),
	})
	wireError(t, err, protocol.CodeInternal, "filesystem sandbox cannot be enforced on this executor: "+
		"it has no sandbox; ask for it without `sandbox`, or use an executor that has one")
}

// TestInstalledLimits asserts that neither many plugins nor large ones make an
// answer that can't be sent.
func TestInstalledLimits(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	for i := range limits.InstalledPlugins + 1 {
		h.write(fmt.Sprintf(cache+"m/p%03d/1/.codex-plugin/plugin.json", i), "{}")
	}
	found := h.installed()
	if len(found.Plugins) != limits.InstalledPlugins || !slices.Equal(found.Warnings, []string{locationsLost}) {
		t.Errorf("%d plugins, warnings %q", len(found.Plugins), found.Warnings)
	}
	h = newHost(t, nil)
	for i := range 10 { // of 6 MiB each, as they are encoded
		h.write(fmt.Sprintf(cache+"m/p%d/1/.codex-plugin/plugin.json", i), "{}")
		h.write(fmt.Sprintf(cache+"m/p%d/1/.mcp.json", i), strings.Repeat("\x01", limits.DiscoveryFileBytes))
	}
	found = h.installed()
	if len(found.Plugins) != 7 || !slices.Equal(found.Warnings, []string{metadataLost}) {
		t.Errorf("%d plugins, warnings %q", len(found.Plugins), found.Warnings)
	}
	for i := range limits.InstalledNames + 1 {
		h.write(fmt.Sprintf(cache+"%d", i), "")
	}
	if found = h.installed(); !slices.Contains(found.Warnings, locationsLost) {
		t.Errorf("warnings %q", found.Warnings)
	}
}

// TestInstalledThroughLinks asserts that a plugin may be a symbolic link, but none
// of its versions.
func TestInstalledThroughLinks(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"x/1/.codex-plugin/plugin.json": "{}"})
	h.link("x", cache+"m/a")
	h.link("x/1", cache+"m/b/2")
	if diff := cmp.Diff([]string{`a@m 1 "1" (@/home/.codex/plugins/cache/m/a/1)`}, h.list()); diff != "" {
		t.Error(diff)
	}
}

// TestCompareVersions asserts the order of versions, in which each is newer than
// those before it.
func TestCompareVersions(t *testing.T) {
	t.Parallel()
	order := []string{
		"0.9.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.0+a", "1.9.0", "1.10.0", "2.0.0",
		"18446744073709551615.0.0", "abc", "local",
	}
	for i, a := range order {
		for j, b := range order {
			if got := compareVersions(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
	if got := slices.MaxFunc([]string{"2", "10"}, compareVersions); got != "2" {
		t.Errorf("%s: what is no version goes by its letters", got)
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, name, description, short string // all empty: it makes no sense
	}{
		{"---\nname: x\ndescription: y\n---\nz", "x", "y", ""},
		{"---  \r\nname: x\r\ndescription: y\r\n---\r\n", "x", "y", ""},
		{"---\ndescription: y\n---", "the folder", "y", ""},
		{"---\nname: ''\ndescription: y: z # c\n---", "the folder", "y: z", ""},
		{"---\nname: 3\ndescription: true\nmetadata:\n  short-description: \" a \\n b\"\n---", "3", "true", "a b"},
		{"---\nname: x\ndescription: |\n  a\n\n   b\nmetadata:\n---", "x", "a b", ""},
		{"---\nname: " + strings.Repeat("é", limits.SkillNameRunes) + "\ndescription: y\n---", strings.Repeat("é", limits.SkillNameRunes), "y", ""},
		{"---\nname: " + strings.Repeat("é", limits.SkillNameRunes+1) + "\ndescription: y\n---", "", "", ""},
		{"", "", "", ""},
		{"\n---\ndescription: y\n---", "", "", ""},
		{"---\ndescription: y\n", "", "", ""},
		{"---\n- description\n---", "", "", ""},
		{"---\nname: x\n---", "", "", ""},
		{"---\nname: [x]\ndescription: y\n---", "", "", ""},
		{"---\nname: x\ndescription: {y: z}\n---", "", "", ""},
		{"---\nname: x\ndescription: y\nmetadata: z\n---", "", "", ""},
		{"---\nname: x\ndescription: y\nmetadata:\n  short-description: []\n---", "", "", ""},
		{"---\nname: x\nname: x\ndescription: y\n---", "", "", ""},
	} {
		files := &protocol.SkillFiles{Instructions: protocol.CapabilityFile{Path: uri(filepath.Join(t.TempDir(), "the  folder", "SKILL.md")), Contents: test.text}}
		skill, err := summarise(files)
		if test.name == "" {
			if err == nil {
				t.Errorf("%q: no error", test.text)
			}
			continue
		}
		short := ""
		if skill.ShortDescription != nil {
			short = *skill.ShortDescription
		}
		if err != nil || skill.Name != test.name || skill.Description != test.description || short != test.short {
			t.Errorf("%q: %+v, %q, error %v", test.text, skill, short, err)
		}
	}
}

// FuzzSummarise asserts that nothing a skill says can't be told.
func FuzzSummarise(f *testing.F) {
	f.Add("---\nname: x\ndescription: y\nmetadata:\n  short-description: z\n---\n", "dependencies:\n  tools:\n  - {type: t, value: v, oauth: {callbackPort: 1}}\npolicy:\n  products: [codex]\n")
	f.Add("---\ndescription: \"\\u0000\"\n---\n", "policy:\n  allow_implicit_invocation: true\n")
	path := uri(filepath.Join(f.TempDir(), "s", "SKILL.md"))
	f.Fuzz(func(t *testing.T, instructions, metadata string) {
		skill, err := summarise(&protocol.SkillFiles{
			Instructions: protocol.CapabilityFile{Path: path, Contents: strings.ToValidUTF8(instructions, "?")},
			Metadata:     &protocol.CapabilityFile{Path: path, Contents: strings.ToValidUTF8(metadata, "?")},
		})
		if err != nil {
			return
		}
		encoded, err := protocol.Encode(&skill)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.Decode[protocol.InstalledSkill](encoded); err != nil || skill.Name == "" || skill.Description == "" {
			t.Fatalf("%s: %v", encoded, err)
		}
	})
}
