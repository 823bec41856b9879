package agent

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
)

// hiding is the configuration of an agent whose workspace has a folder that nobody
// may look into, and files of one kind that nobody may read.
func hiding(string) string {
	return `
[permissions.hiding.filesystem]
glob_scan_max_depth = 4
":root" = "read"
[permissions.hiding.filesystem.":workspace_roots"]
"." = "write"
"secret" = "deny"
"**/*.env" = "deny"
[permissions.hiding.network]
enabled = false
`
}

// hidden is a turn with that.
func hidden(files map[string]string) setting {
	return setting{profile: "hiding", config: hiding, files: files, env: plainShell}
}

// plainShell keeps Bash from the start-up file of a remote shell. It takes itself for
// one where it may not ask what its input is, and is not the second shell already.
var plainShell = []string{"SHLVL=1"}

// TestHiddenFiles: what a profile of the agent hides is hidden from commands, and
// the rest of the workspace is not.
func TestHiddenFiles(t *testing.T) {
	files := map[string]string{"secret/in/file": "hush\n", "a.env": "K=1\n", "deep/b.env": "K=2\n", "open": "one\n"}
	everyWay(t, hidden(files), func(t *testing.T, u *turn) {
		for _, cmd := range []string{"cat secret/in/file", "ls secret", "cat a.env", "cat deep/b.env", "cp a.env copy", "touch secret/new"} {
			if r := u.run(command{Cmd: cmd}); r.code == 0 || !strings.Contains(r.output, "Permission denied") {
				t.Errorf("%s: %q", cmd, r.said)
			}
		}
		u.expect(u.run(command{Cmd: "cat open && echo two > new && stat -c %A secret"}), 0, "one\nd---------\n")
		u.expectFiles(map[string]string{"secret/in/file": "hush\n", "a.env": "K=1\n", "new": "two\n"}, "secret/new")
	})
}

// TestPatchOfHiddenFiles: nor can a patch read or replace what is hidden.
func TestPatchOfHiddenFiles(t *testing.T) {
	files := map[string]string{"secret/file": "hush\n", "a.env": "K=1\n", "open": "one\n"}
	overNetwork(t, hidden(files), func(t *testing.T, u *turn) {
		for _, lines := range [][]string{
			{"*** Update File: a.env", "@@", "-K=1", "+K=2"},
			{"*** Update File: secret/file", "@@", "-hush", "+loud"},
			{"*** Add File: secret/new", "+x"},
			{"*** Delete File: a.env"},
		} {
			if said := u.patch(lines...); strings.Contains(said, "Success") {
				t.Errorf("%q: the tool says %q", lines, said)
			}
		}
		if said := u.patch("*** Update File: open", "@@", "-one", "+two", "*** Add File: new/file", "+new"); !strings.Contains(said, "Success") {
			t.Errorf("a patch of what is open: the tool says %q", said)
		}
		u.expectFiles(map[string]string{"secret/file": "hush\n", "a.env": "K=1\n", "open": "two\n", "new/file": "new\n"}, "secret/new")
	})
}

// TestHiddenImage: an image that is hidden is not shown, though another one is.
func TestHiddenImage(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"secret/image.png": picture.String(), "image.png": picture.String()}
	everyWay(t, hidden(files), func(t *testing.T, u *turn) {
		view := func(name string) string {
			return u.call(function(t, "view_image", map[string]string{"path": u.path(name)})).text()
		}
		if said := view("secret/image.png"); !strings.Contains(said, "Permission denied") || strings.Contains(said, "base64") {
			t.Errorf("the hidden one: %q", said)
		}
		if said := view("image.png"); !strings.Contains(said, "data:image/png;base64,") {
			t.Errorf("the other one: %q", said)
		}
	})
}

// TestInstructionsOfProfile: the agent finds its instructions and skills with a
// profile, too, but for those that it hides.
func TestInstructionsOfProfile(t *testing.T) {
	files := map[string]string{
		".git/HEAD":                     "",
		"AGENTS.md":                     "instructions-of-the-root\n",
		".agents/skills/zebra/SKILL.md": "---\nname: zebra\ndescription: Knows about stripes.\n---\nCount them.\n",
		"secret/AGENTS.md":              "instructions-that-are-hidden\n",
	}
	overNetwork(t, hidden(files), func(t *testing.T, u *turn) {
		said := string(bytes.Join(rawInput(u.asked), nil))
		for text, want := range map[string]bool{
			"instructions-of-the-root": true, "zebra: Knows about stripes.": true, "instructions-that-are-hidden": false,
		} {
			if strings.Contains(said, text) != want {
				t.Errorf("the model is told %q: %t", text, !want)
			}
		}
		u.expect(u.run(command{Cmd: "cat " + u.path(".agents/skills/zebra/SKILL.md")}), 0, files[".agents/skills/zebra/SKILL.md"])
	})
}
