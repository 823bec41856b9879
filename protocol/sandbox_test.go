package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSandboxTexts: clients know what is said of a sandbox that makes no sense.
func TestSandboxTexts(t *testing.T) {
	t.Parallel()
	profile := func(p string) string { return `{"permissions":` + p + `,"windowsSandboxLevel":"disabled"}` }
	files := func(f string) string {
		return profile(`{"type":"managed","file_system":` + f + `,"network":"restricted"}`)
	}
	entry := func(e string) string { return files(`{"type":"restricted","entries":[` + e + `]}`) }
	path := func(p string) string { return entry(`{"path":` + p + `,"access":"read"}`) }
	special := func(v string) string { return path(`{"type":"special","value":` + v + `}`) }
	with := func(member string) string {
		return `{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled",` + member + `}`
	}
	for text, want := range map[string]string{
		`[]`:                                  "invalid type: sequence, expected struct WireFileSystemSandboxContext",
		`{}`:                                  "missing field `permissions`",
		`{"permissions":{"type":"disabled"}}`: "missing field `windowsSandboxLevel`",
		`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"zzz"}`: "unknown variant `zzz`, expected one of `disabled`, `restricted-token`, `elevated`, `mxc`",
		profile(`5`):                                              "invalid type: integer `5`, expected internally tagged enum ExecPermissionProfile",
		profile(`null`):                                           "invalid type: null, expected internally tagged enum ExecPermissionProfile",
		profile(`{}`):                                             "missing field `type`",
		profile(`{"type":true}`):                                  "invalid type: boolean `true`, expected variant identifier",
		profile(`{"type":"zzz"}`):                                 "unknown variant `zzz`, expected one of `managed`, `disabled`, `external`",
		profile(`{"type":"external"}`):                            "missing field `network`",
		profile(`{"type":"external","network":null}`):             "invalid type: null, expected string or map",
		profile(`{"network":"zzz","type":"external"}`):            "unknown variant `zzz`, expected `restricted` or `enabled`",
		profile(`{"type":"managed"}`):                             "missing field `file_system`",
		profile(`{"type":"managed","network":5,"file_system":5}`): "invalid type: integer `5`, expected string or map",
		files(`null`):                                             "invalid type: null, expected internally tagged enum ExecManagedFileSystemPermissions",
		files(`{"type":"zzz"}`):                                   "unknown variant `zzz`, expected `restricted` or `unrestricted`",
		files(`{"type":"restricted"}`):                            "missing field `entries`",
		files(`{"type":"restricted","entries":null}`):             "invalid type: null, expected a sequence",
		files(`{"type":"restricted","entries":[],"glob_scan_max_depth":0}`):   "invalid value: integer `0`, expected a nonzero usize",
		files(`{"type":"restricted","entries":[],"glob_scan_max_depth":-1}`):  "invalid value: integer `-1`, expected a nonzero usize",
		files(`{"type":"restricted","entries":[],"glob_scan_max_depth":1.5}`): "invalid type: floating point `1.5`, expected a nonzero usize",
		entry(`5`):                                      "invalid type: integer `5`, expected struct ExecFileSystemSandboxEntry",
		entry(`{}`):                                     "missing field `path`",
		path(`"x"`):                                     `invalid type: string "x", expected internally tagged enum ExecFileSystemPath`,
		path(`{"type":"zzz"}`):                          "unknown variant `zzz`, expected one of `path`, `glob_pattern`, `special`",
		path(`{"type":"path"}`):                         "missing field `path`",
		path(`{"type":"path","path":null}`):             "invalid type: null, expected a string",
		path(`{"type":"path","path":"/x"}`):             "invalid URI: relative URL without a base",
		path(`{"type":"glob_pattern"}`):                 "missing field `pattern`",
		path(`{"type":"special"}`):                      "missing field `value`",
		special(`"root"`):                               `invalid type: string "root", expected internally tagged enum FileSystemSpecialPath`,
		special(`{}`):                                   "missing field `kind`",
		special(`{"kind":"zzz"}`):                       "unknown variant `zzz`, expected one of `root`, `minimal`, `current_working_directory`, `project_roots`, `tmpdir`, `slash_tmp`, `unknown`",
		special(`{"kind":"unknown"}`):                   "missing field `path`",
		special(`{"kind":"project_roots","subpath":5}`): "invalid type: integer `5`, expected a string",
		entry(`{"path":{"type":"special","value":{"kind":"root"}},"access":"zzz"}`):                                "unknown variant `zzz`, expected one of `read`, `write`, `deny`, `none`",
		entry(`{"path":{"type":"special","value":{"kind":"root"}},"access":"read","missing_path_behavior":"zzz"}`): "unknown variant `zzz`, expected `skip`",
		with(`"cwd":"/ws"`):                             "invalid URI: relative URL without a base",
		with(`"cwd":"http://x/y"`):                      "unsupported path URI scheme `http`",
		with(`"workspaceRoots":null`):                   "invalid type: null, expected a sequence",
		with(`"policyContext":5`):                       "invalid type: number, expected struct WireFileSystemPolicyContext",
		with(`"sandboxOverride":true`):                  "invalid type: boolean `true`, expected string or map",
		with(`"sandboxOverride":null`):                  "invalid type: null, expected string or map",
		with(`"sandboxOverride":"zzz"`):                 "unknown variant `zzz`, expected one of `noOverride`, `escalatedSandboxWithRestrictions`, `bypassSandboxFirstAttempt`",
		with(`"windowsSandboxProxySettingsMode":"zzz"`): "unknown variant `zzz`, expected `reconcile` or `preserve`",
		with(`"useLegacyLandlock":null`):                "invalid type: null, expected a boolean",

		// What is taken.
		with(`"more":1,"cwd":null,"policyContext":null,"temporaryDirectories":null,"userHomeDir":null,"windowsSandboxProxySettingsMode":null`): "",
		profile(`{"type":"disabled","network":5,"file_system":[]}`):                                                                            "",
		files(`{"entries":5,"type":"unrestricted"}`):                                                                                           "",
		files(`{"entries":[],"glob_scan_max_depth":null,"type":"restricted"}`):                                                                 "",
		special(`{"kind":"root","subpath":5}`):                                                                                                 "",
		special(`{"subpath":null,"kind":"project_roots"}`):                                                                                     "",
		entry(`{"path":{"path":"file:///x","type":"path","x":1},"access":"none","missing_path_behavior":null}`):                                "",
	} {
		got := ""
		if _, err := Decode[SandboxContext]([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestSandboxes: what the constructors make stands on the wire as the dialect has it.
func TestSandboxes(t *testing.T) {
	t.Parallel()
	ws := PathURI{"file:///ws"}
	const root = `{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}`
	for _, test := range []struct {
		made *SandboxContext
		want string
	}{
		{FullAccessSandbox(), `{"permissions":{"type":"disabled"},"workspaceRoots":[],"windowsSandboxLevel":"disabled"}`},
		{RestrictedSandbox(NetworkEnabled), `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[]},"network":"enabled"},"workspaceRoots":[],"windowsSandboxLevel":"disabled"}`},
		{ReadOnlySandbox(NetworkRestricted), `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` + root + `]},"network":"restricted"},"workspaceRoots":[],"windowsSandboxLevel":"disabled"}`},
		{WorkspaceWriteSandbox(NetworkRestricted, ws), `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` + root +
			`,{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"},{"path":{"type":"special","value":{"kind":"slash_tmp"}},"access":"write"},` +
			`{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"}]},"network":"restricted"},"workspaceRoots":["file:///ws"],"windowsSandboxLevel":"disabled"}`},
		{
			RestrictedSandbox(NetworkEnabled, PathEntry(ws, AccessWrite), GlobEntry("*.env", AccessDeny), ProjectEntry(".git", AccessRead)),
			`{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[{"path":{"type":"path","path":"file:///ws"},"access":"write"},` +
				`{"path":{"type":"glob_pattern","pattern":"*.env"},"access":"deny"},{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},"access":"read"}]},` +
				`"network":"enabled"},"workspaceRoots":[],"windowsSandboxLevel":"disabled"}`,
		},
	} {
		text, err := Encode(test.made)
		if err != nil || string(text) != test.want {
			t.Errorf("%s, %v; want %s", text, err, test.want)
		}
		if again, err := Decode[SandboxContext](text); err != nil || !cmp.Equal(again.Permissions, test.made.Permissions, cmp.AllowUnexported(PathURI{})) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
