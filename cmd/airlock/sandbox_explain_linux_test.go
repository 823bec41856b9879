package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// explained runs airlock sandbox explain.
func explained(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	_, ctx, err := parse(t, append([]string{"sandbox", "explain"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	ctx.Stdout, ctx.Stderr = &out, &errs
	err = ctx.Run()
	return out.String(), errs.String(), err
}

func TestSandboxExplain(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"ws/.git", "ws/sub", "secret", "other"} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret", "link"); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--workspace-write", "ws", "--no-tmp", "--deny", "secret", "--read", "ws/sub"}
	for path, want := range map[string]string{
		"ws/new": "write", "ws": "write", "ws/.git": "read", "ws/.git/config": "read", "ws/.codex": "read",
		"ws/sub/x": "read", "other": "read", "/": "read", "secret/x": "deny", "link/x": "deny", "ws/../secret": "deny",
	} {
		out, _, err := explained(t, append([]string{"--json", "--path", path}, flags...)...)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var e explanation
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		if e.Access != want || e.Write != (want == "write") || e.Read != (want != "deny") || e.Why == "" || e.Network != "off" {
			t.Errorf("%s: %s, want %s", path, out, want)
		}
		text, _, err := explained(t, append([]string{"--path", path}, flags...)...)
		if err != nil || !strings.Contains(text, " "+accessTexts[want]+"\n") {
			t.Errorf("%s: %s, %v, want %s", path, text, err, want)
		}
	}

	// A link is told of, several paths are told of one after the other, and what is
	// not there under a policy can't be reached.
	text, _, err := explained(t, "--minimal", "--path", "link", "--path", "/usr")
	if want := dir + "/link, which leads to " + dir + "/secret, can't be reached\n"; err != nil ||
		!strings.HasPrefix(text, want) || !strings.Contains(text, "\n/usr can be read, not written\n") {
		t.Errorf("%s, %v", text, err)
	}
	// Of a policy that would be refused there is nothing to tell.
	for want, args := range map[string][]string{
		"non-root directory": {"--deny", "/**/x", "--path", "/"},
		"contradict":         {"--read-only", "--write", "ws", "--path", "/"},
	} {
		if out, _, err := explained(t, args...); out != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %s, %v", args, out, err)
		}
	}
	out, _, err := explained(t, "--net", "on", "--json", "--path", "/")
	if err != nil || !strings.Contains(out, `"network":"on"`) {
		t.Errorf("%s, %v", out, err)
	}
}
