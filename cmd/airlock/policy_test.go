package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

// Parts of policies as they travel.
const (
	entryRoot    = `{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}`
	entryMinimal = `{"path":{"type":"special","value":{"kind":"minimal"}},"access":"read"}`
	entryProject = `{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`
	entryTmp     = `{"path":{"type":"special","value":{"kind":"slash_tmp"}},"access":"write"},` +
		`{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"}`
)

func entryPath(path, access string) string {
	return `{"path":{"type":"path","path":"file://` + path + `"},"access":"` + access + `"}`
}

func entryGlob(pattern string) string {
	return `{"path":{"type":"glob_pattern","pattern":"` + pattern + `"},"access":"deny"}`
}

// policyOf returns the policy that a command line asks for, for a command that runs
// in /work.
func policyOf(t *testing.T, url bool, args ...string) (string, error) {
	t.Helper()
	cli, _, err := parse(t, slices.Concat([]string{"sandbox"}, args, []string{"true"})...)
	if err != nil {
		t.Fatal(err)
	}
	run := runCommand{policyFlags: cli.Sandbox.policyFlags, Sandbox: true}
	if url {
		run.URL = "ws://x"
	}
	work, err := protocol.ParsePathURI("file:///work")
	if err != nil {
		t.Fatal(err)
	}
	s, err := run.confinement(work)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ws", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a[1]", "file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		args    string
		url     bool
		entries []string
		network string // restricted, if empty
		roots   []string
	}{
		{args: "", entries: []string{entryRoot}},
		{args: "--read-only --net off", entries: []string{entryRoot}},
		{args: "--net on", entries: []string{entryRoot}, network: "enabled"},
		{args: "--minimal", entries: []string{entryMinimal}},
		{args: "--workspace-write .", entries: []string{entryRoot, entryProject, entryTmp}, roots: []string{dir}},
		{
			args: "--workspace-write ws --workspace-write=other --no-tmp", entries: []string{entryRoot, entryProject},
			roots: []string{dir + "/ws", dir + "/other"},
		},
		{
			args: "--write file --read ws --read " + dir + "/none --deny ../x --deny **/.env --deny a[1] --minimal",
			entries: []string{
				entryMinimal, entryPath(dir+"/file", "write"), entryPath(dir+"/ws", "read"), entryPath(dir+"/none", "read"),
				entryPath(filepath.Dir(dir)+"/x", "deny"), entryGlob("**/.env"),
				entryGlob("a[1]"), entryPath(dir+"/a[1]", "deny"), // it is both
			},
		},
		{
			args: "--workspace-write /ws --write file:///a%20b --deny *.env --deny /etc/shadow", url: true,
			entries: []string{entryRoot, entryProject, entryTmp, entryPath("/a%20b", "write"), entryGlob("*.env"), entryPath("/etc/shadow", "deny")},
			roots:   []string{"/ws"},
		},
	} {
		got, err := policyOf(t, test.url, strings.Fields(test.args)...)
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}
		network, cwd, roots := "restricted", `"cwd":"file://`+dir+`",`, "[]"
		if test.network != "" {
			network = test.network
		}
		if test.url {
			cwd = "" // that of the command
		}
		if test.roots != nil {
			roots = `["file://` + strings.Join(test.roots, `","file://`) + `"]`
		}
		want := `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` +
			strings.Join(test.entries, ",") + `]},"network":"` + network + `"},` + cwd + `"workspaceRoots":` + roots + `,"windowsSandboxLevel":"disabled"}`
		if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args, diff)
		}
		if _, err := protocol.Decode[protocol.SandboxContext]([]byte(got)); err != nil {
			t.Errorf("%s: an executor refuses it: %v", test.args, err)
		}
	}
}

// decoded returns a value of JSON.
func decoded(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestPolicyFlagErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--read-only --workspace-write .":     "--read-only and --workspace-write contradict each other",
		"--read-only --write .":               "--read-only and --write contradict each other",
		"--no-tmp":                            "--no-tmp only makes sense with --workspace-write",
		"--policy x --net on":                 "--policy is a whole policy",
		"--policy nowhere":                    "reading the policy: open nowhere: no such file",
		"--workspace-write none":              "--workspace-write: stat ",
		"--workspace-write file":              "is not a directory: use --write for a single file",
		"--write none":                        "make it first",
		"--write=":                            "--write: the path is empty",
		"--workspace-write=":                  "--workspace-write: the path is empty",
		"--write *.go":                        "--write *.go: patterns are for --deny only",
		"--write file --deny ./file":          "--write and --deny contradict each other about ./file",
		"--read file --deny file":             "--read and --deny contradict each other about file",
		"URL --write file":                    "--write file: with --url, expected an absolute path or a file: URI",
		"URL --workspace-write .":             "--workspace-write .: with --url, expected an absolute path or a file: URI",
		"URL --deny file://a/b?c":             "",
		"--deny http://x --read file:nothing": "",
	} {
		rest, url := strings.CutPrefix(args, "URL ")
		if _, err := policyOf(t, url, strings.Fields(rest)...); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestPolicyFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const permissions = `{"type":"external","network":"enabled"}`
	for content, want := range map[string]string{
		permissions: `{"permissions":` + permissions + `,"workspaceRoots":["file:///work"],"windowsSandboxLevel":"disabled"}`,
		`{"permissions":` + permissions + `,"windowsSandboxLevel":"disabled","cwd":"file:///x"}`: `{"permissions":` + permissions +
			`,"cwd":"file:///x","workspaceRoots":[],"windowsSandboxLevel":"disabled"}`,
		`{"permissions":` + permissions + `}`:    "missing field `windowsSandboxLevel`",
		`{"type":"external"}`:                    "missing field `network`",
		`{}`:                                     "expected a sandbox, with permissions in it, or permissions",
		`[]`:                                     "is no JSON object",
		`{`:                                      "is no JSON object",
		`"` + strings.Repeat("x", maxPolicyFile): "more than 1048576 bytes",
	} {
		if err := os.WriteFile("policy.json", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := policyOf(t, false, "--policy", "policy.json")
		if err != nil {
			if strings.HasPrefix(want, "{") || !strings.Contains(err.Error(), want) {
				t.Errorf("%.100s: %v, want %s", content, err, want)
			}
			continue
		}
		if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", content, diff)
		}
	}
}

// A flag of a sandbox means --sandbox, and none means none.
func TestConfines(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"": false, "-v": false, "--sandbox": true, "--read-only": true, "--workspace-write .": true, "--write x": true,
		"--read x": true, "--deny x": true, "--minimal": true, "--no-tmp": true, "--net on": true, "--net off": true, "--policy x": true,
	} {
		cli, _, err := parse(t, slices.Concat([]string{"run"}, strings.Fields(args), []string{"true"})...)
		if err != nil {
			t.Fatal(err)
		}
		if got := cli.Run.confines(); got != want {
			t.Errorf("%q confines: %v", args, got)
		}
	}
}

// What stands behind -- is a command, also if it has the name of one of ours.
func TestNameRun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"sandbox -- explain":                  "sandbox run -- explain",
		"sandbox --net on -- run x":           "sandbox --net on run -- run x",
		"--log-level debug sandbox -t -- run": "--log-level debug sandbox -t run -- run",
		"--log-level=debug sandbox -- -- x":   "--log-level=debug sandbox run -- -- x",
		"sandbox run -- explain":              "sandbox run -- explain",
		"sandbox explain --path x -- y":       "sandbox explain --path x -- y",
		"sandbox echo":                        "sandbox echo",
		"run sandbox -- x":                    "run sandbox -- x",
		"run -- sandbox -- x":                 "run -- sandbox -- x",
		"":                                    "",
	} {
		given := strings.Fields(args)
		if got := strings.Join(nameRun(given), " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
		if strings.Join(given, " ") != args {
			t.Errorf("%s has been changed", args)
		}
	}
}
