package discover

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// read asks for parts of the configuration in a folder.
func (h *host) read(cwd string, config, requirements [][]string) (*protocol.EnvironmentConfigReadResult, error) {
	return h.discoverer().ReadConfig(h.t.Context(), &protocol.EnvironmentConfigReadParams{
		CWD: h.uri(cwd), ConfigPaths: config, RequirementsPaths: requirements,
	})
}

// models returns the layers that set a model, with its value.
func (h *host) models(cwd string) []string {
	h.t.Helper()
	result, err := h.read(cwd, [][]string{{"model"}}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	models := []string{}
	for _, layer := range result.Config.Layers {
		models = append(models, h.short(layer.Source)+": "+strings.TrimSpace(layer.TOML))
	}
	return models
}

// TestReadConfig asserts that what is asked for is told of every file that has it,
// and nothing else.
func TestReadConfig(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{
		"etc/config.toml":         "model = 'system'\n[mcp_servers.s]\ncommand = 's'\n",
		"etc/managed_config.toml": "model = 'managed'\napproval_policy = 'on-failure'\nsandbox_mode = 'workspace-write'\n",
		"etc/requirements.toml":   "allowed_approval_policies = ['never']\nsecret = 1\n",
		"home/.codex/config.toml": "\xef\xbb\xbf# of the user\nmodel = 'user'\nsecret = 'x'\n" +
			"[mcp_servers.u]\nurl = 'http://u'\nenv = {KEY = 'k'}\n[projects.'HOST/w']\ntrust_level = 'trusted'\n",
		"w/.git/HEAD":          "",
		"w/.codex/config.toml": "model = 'project'\nmodel_provider = 'x'\n[mcp_servers.p]\ncommand = './p'\n",
	})
	result, err := h.read("w", [][]string{{"model", "no", "table"}, {"mcp_servers", "u", "env"}, {"mcp_servers", "p"}, {"model_provider"}},
		[][]string{{"allowed_approval_policies"}, {"allowed_sandbox_modes"}})
	if err != nil {
		t.Fatal(err)
	}
	layer := func(source, dir, text string) protocol.ConfigLayer {
		return protocol.ConfigLayer{Source: filepath.FromSlash(source), BaseDir: h.uri(dir), TOML: text}
	}
	root := h.root
	want := protocol.ConfigLayers{CloudInsertionIndex: 1, Layers: []protocol.ConfigLayer{
		layer("system ("+root+"/etc/config.toml)", "etc", "model = \"system\"\n"),
		layer("user ("+root+"/home/.codex/config.toml)", "home/.codex", "model = \"user\"\n\n[mcp_servers.u.env]\nKEY = \"k\"\n"),
		layer("project ("+root+"/w/.codex/config.toml)", "w/.codex", "model = \"project\"\n\n[mcp_servers.p]\ncommand = \"./p\"\n"),
		layer("legacy managed_config.toml ("+root+"/etc/managed_config.toml)", "etc", "model = \"managed\"\n"),
	}}
	if diff := cmp.Diff(want, result.Config, uris); diff != "" {
		t.Error(diff)
	}
	want = protocol.ConfigLayers{CloudInsertionIndex: 1, Layers: []protocol.ConfigLayer{
		layer(root+"/etc/requirements.toml", "etc", "allowed_approval_policies = [\"never\"]\n"),
		layer(root+"/etc/managed_config.toml", "etc",
			"allowed_approval_policies = [\"on-request\"]\nallowed_sandbox_modes = [\"read-only\", \"workspace-write\"]\n"),
	}}
	if diff := cmp.Diff(want, result.Requirements, uris); diff != "" {
		t.Error(diff)
	}
	if *result.UserHomeDir != h.uri("home") || result.CodexHomeDir != h.uri("home/.codex") || *result.Hostname == "" {
		t.Errorf("%+v", result)
	}
}

// uris compares path URIs.
var uris = cmp.Comparer(func(a, b protocol.PathURI) bool { return a == b })

// TestReadConfigWithoutFiles asserts that a user who has nothing has no layers, and
// that files that have nothing of what was asked for are none.
func TestReadConfigWithoutFiles(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no home": nil, "no file": {"home/.codex/x": ""}, "an empty file": {"home/.codex/config.toml": ""},
		"something else": {"home/.codex/config.toml": "x = 1\n[a]\n", "etc/config.toml": "b = 2", "etc/requirements.toml": "c = 3"},
		"home is a file": {"home/.codex": ""},
	} {
		result, err := newHost(t, files).read("w", [][]string{{"model"}, {"a", "b"}}, [][]string{{"model"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([2]protocol.ConfigLayers{}, [2]protocol.ConfigLayers{result.Config, result.Requirements}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestProjects asserts whose configuration counts: that of folders from the root of
// a project to where the client works, where the user trusts them.
func TestProjects(t *testing.T) {
	t.Parallel()
	const trusts = "[projects.'HOST/%s']\ntrust_level = '%s'\n"
	user := func(config string, levels ...string) string {
		for i := 0; i < len(levels); i += 2 {
			config += fmt.Sprintf(trusts, levels[i], levels[i+1])
		}
		return config
	}
	const w, sub = "project (@/w/.codex/config.toml): model = \"w\"", "project (@/w/sub/.codex/config.toml): model = \"sub\""
	for _, test := range []struct {
		name, user string
		files      map[string]string
		cwd        string
		want       []string
	}{
		{"trusted", user("", "w", "trusted"), nil, "w/sub", []string{w, sub}},
		{"from below", user("", "w", "trusted"), nil, "w/sub/a/b", []string{w, sub}},
		{"from its root", user("", "w", "trusted"), nil, "w", []string{w}},
		{"not trusted", user(""), nil, "w/sub", nil},
		{"one of them", user("", "w/sub", "trusted"), nil, "w/sub", []string{sub}},
		{"all but one", user("", "w", "trusted", "w/sub", "untrusted"), nil, "w/sub", []string{w}},
		{"another one", user("", "", "trusted", "w/sub/a", "trusted"), nil, "w/sub/a", nil},
		{"no words", "projects.'HOST/w'.other = 1\n", nil, "w", nil},
		{"trusts itself", "", map[string]string{"w/.codex/config.toml": user("model = 'w'\n", "w", "trusted")}, "w", nil},
		{"trusted by the administrator", "", map[string]string{"etc/config.toml": user("", "w", "trusted")}, "w", []string{w}},
		{"which the user can take back", user("", "w", "untrusted"), map[string]string{"etc/config.toml": user("", "w", "trusted")}, "w", nil},
		{"a repository in it", user("", "w", "trusted"), map[string]string{"w/sub/.git/HEAD": ""}, "w/sub", nil},
		{"other markers", user("project_root_markers = ['MARK']\n", "w/sub", "trusted"), map[string]string{"w/sub/MARK": ""}, "w/sub/a", []string{sub}},
		{"no markers", user("project_root_markers = []\n", "w", "trusted"), nil, "w/sub", []string{sub}},
		{"no configuration there", user("", "w", "trusted"), map[string]string{"w/a/.codex": ""}, "w/a", []string{w}},
		{"the Codex home", user("model = 'user'\n", "home", "trusted"), nil, "home", []string{"user (@/home/.codex/config.toml): model = \"user\""}},
		{
			"a worktree", user("", "main", "trusted"),
			map[string]string{
				"tree/.git": "gitdir: HOST/main/.git/worktrees/tree\n", "tree/.codex/config.toml": "model = 't'",
				"main/.git/worktrees/tree/gitdir": "HOST/tree/.git\n", "main/.git/worktrees/tree/commondir": "../..\n",
			},
			"tree",
			[]string{"project (@/tree/.codex/config.toml): model = \"t\""},
		},
		{
			"who only says so", user("", "main", "trusted"),
			map[string]string{
				"tree/.git": "gitdir: ../main/.git/worktrees/tree\n", "tree/.codex/config.toml": "model = 't'",
				"main/.git/worktrees/tree/gitdir": "HOST/other/.git\n", "main/.git/worktrees/tree/commondir": "../..\n",
			},
			"tree", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"home/.codex/config.toml": test.user, "w/.git/HEAD": "", "w/.codex/config.toml": "model = 'w'",
				"w/sub/.codex/config.toml": "model = 'sub'",
			}
			maps.Copy(files, test.files)
			h := newHost(t, files)
			if diff := cmp.Diff(append([]string{}, test.want...), h.models(test.cwd)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProjectThroughLink asserts that a project is trusted by its real path, too.
func TestProjectThroughLink(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{
		"home/.codex/config.toml": "[projects.'HOST/w']\ntrust_level = 'trusted'\n",
		"w/.git/HEAD":             "", "w/.codex/config.toml": "model = 'w'",
	})
	h.link("w", "l")
	if diff := cmp.Diff([]string{"project (@/l/.codex/config.toml): model = \"w\""}, h.models("l")); diff != "" {
		t.Error(diff)
	}
}

// TestReadConfigParams asserts what can't be asked for.
func TestReadConfigParams(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	many := make([][]string, limits.ConfigPaths)
	for i := range many {
		many[i] = make([]string, limits.ConfigPathKeys)
	}
	if _, err := h.read("w", many, nil); err != nil {
		t.Error(err)
	}
	for text, paths := range map[string][][]string{
		"at least one config or requirements path is required": {},
		"TOML paths must contain at least one key segment":     {{"a"}, {}},
		"1025 config and requirements paths":                   slices.Concat(many, [][]string{{"a"}}),
		"a TOML path has 65 key segments; the limit is 64":     {make([]string, limits.ConfigPathKeys+1)},
	} {
		_, err := h.read("w", paths, nil)
		wireError(t, err, protocol.CodeInvalidParams, text)
		if len(paths) > 0 {
			_, err = h.read("w", nil, paths)
			wireError(t, err, protocol.CodeInvalidParams, text)
		}
	}
	foreign, err := protocol.ParsePathURI("file://host/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.discoverer().ReadConfig(t.Context(), &protocol.EnvironmentConfigReadParams{CWD: foreign, ConfigPaths: [][]string{{"a"}}})
	wireError(t, err, protocol.CodeInvalidParams, "'file://host/' is invalid on '")
}

// TestReadConfigErrors asserts that what can't be read is told, with its path, and
// not taken for nothing.
func TestReadConfigErrors(t *testing.T) {
	t.Parallel()
	const user, trusted = "home/.codex/config.toml", "[projects.'HOST/w']\ntrust_level = 'trusted'\n"
	for want, files := range map[string]map[string]string{
		"@/home/.codex/config.toml:2:5: ":                                           {user: "a = 1\nb = = 2\n"},
		"@/etc/config.toml:1:1: ":                                                   {"etc/config.toml": "="},
		"@/etc/managed_config.toml:1:1: ":                                           {"etc/managed_config.toml": "="},
		"@/etc/requirements.toml:1:1: ":                                             {"etc/requirements.toml": "="},
		"@/w/.codex/config.toml:1:1: ":                                              {user: trusted, "w/.codex/config.toml": "="},
		"failed to read config file @/home/.codex/config.toml: it is not UTF-8":     {user: "a = '\xff'"},
		"path `@/home/.codex/config.toml` is not a file":                            {user + "/x": ""},
		"@/home/.codex/config.toml: it is too large: the limit is 1048576 bytes":    {user: "#" + strings.Repeat("x", limits.ConfigFileBytes)},
		"@/home/.codex/config.toml: it has too many keys and tables: 5001, the lim": {user: "a = '" + strings.Repeat("[", limits.ConfigSigns) + "'"},
		"@/home/.codex/config.toml: tables are nested too deep: the limit is 64":    {user: strings.Repeat("a.", limits.ConfigDepth) + "a = 1"},
		"@/home/.codex/config.toml: projects must be a table":                       {user: "projects = 3"},
		"projects.\"/x\".trust_level must be `trusted` or `untrusted`":              {user: "[projects.'/x']\ntrust_level = 'somewhat'"},
		"projects.x.trust_level must be":                                            {user: "projects.x = 1"},
		"project_root_markers must be an array of strings":                          {user: "project_root_markers = [1]"},
		"@/etc/config.toml: project_root_markers must be an array of strings":       {"etc/config.toml": "project_root_markers = 'x'"},
		"`approval_policy` has a value that Airlock does not know: x":               {"etc/managed_config.toml": "approval_policy = 'x'"},
		"`sandbox_mode` has a value that Airlock does not know: 3":                  {"etc/managed_config.toml": "sandbox_mode = 3"},
	} {
		h := newHost(t, files)
		_, err := h.read("w", [][]string{{"model"}}, nil)
		wire, ok := err.(*protocol.Error)
		if !ok || wire.Code != protocol.CodeInternal || !strings.HasPrefix(wire.Message, "failed to load executor-local config: ") ||
			!strings.Contains(h.short(wire.Message), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReadConfigBytes asserts that what one request reads, and what it is answered,
// is bounded.
func TestReadConfigBytes(t *testing.T) {
	t.Parallel()
	large := "model = 'x'\n#" + strings.Repeat("x", limits.ConfigFileBytes-100)
	files := map[string]string{"home/.codex/config.toml": "project_root_markers = ['MARK']\n[projects.'HOST/w']\ntrust_level = 'trusted'\n", "w/MARK": ""}
	cwd := "w"
	for range limits.ConfigBytes / limits.ConfigFileBytes {
		files[cwd+"/.codex/config.toml"] = large
		cwd += "/a"
	}
	h := newHost(t, files)
	if models := h.models(cwd); len(models) != 8 {
		t.Errorf("%d layers", len(models))
	}
	h.write(cwd+"/.codex/config.toml", large)
	_, err := h.read(cwd, [][]string{{"model"}}, nil)
	wireError(t, err, protocol.CodeInternal, "all files of configuration together have more than 8388608 bytes")

	// A long name stands above each of the tables in its table.
	h = newHost(t, map[string]string{"home/.codex/config.toml": "[" + strings.Repeat("k", 100_000) + "]\n" + repeated("t%d.x = 1\n", 1000)})
	_, err = h.read("w", [][]string{{strings.Repeat("k", 100_000)}}, nil)
	wireError(t, err, protocol.CodeInternal, "config.toml: what is asked for takes more than 8388608 bytes")
}

// repeated returns lines with numbers in them.
func repeated(line string, count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, line, i)
	}
	return text.String()
}

func TestReadConfigWithoutHome(t *testing.T) {
	for _, name := range []string{"HOME", "USERPROFILE", "CODEX_HOME", "home"} {
		t.Setenv(name, "")
	}
	d := New(Config{})
	_, err := d.ReadConfig(t.Context(), &protocol.EnvironmentConfigReadParams{CWD: uri(t.TempDir()), ConfigPaths: [][]string{{"a"}}})
	wireError(t, err, protocol.CodeInternal, "failed to find Codex home: neither CODEX_HOME nor HOME is set")
	installed, err := d.Installed(t.Context(), &protocol.DiscoverCapabilitiesParams{})
	if err != nil || len(installed.Skills)+len(installed.Plugins)+len(installed.Warnings) > 0 {
		t.Errorf("%+v, error %v", installed, err)
	}
}

func TestReadConfigCancelled(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]string{"w/.git/HEAD": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.discoverer().ReadConfig(ctx, &protocol.EnvironmentConfigReadParams{CWD: h.uri("w"), ConfigPaths: [][]string{{"a"}}})
	wireError(t, err, protocol.CodeInternal, context.Canceled.Error())
}
