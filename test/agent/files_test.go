package agent

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
)

// content returns what is in a file of the workspace, or why it can't be read.
func (u *turn) content(name string) string {
	data, err := os.ReadFile(u.path(name))
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(data)
}

// gone tells whether a file is not there.
func (u *turn) gone(name string) bool {
	_, err := os.Lstat(u.path(name))
	return os.IsNotExist(err)
}

// list returns the names in a folder.
func list(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// expectFiles fails the test unless files of the workspace are as they should be.
func (u *turn) expectFiles(want map[string]string, gone ...string) {
	u.t.Helper()
	for name, text := range want {
		if got := u.content(name); got != text {
			u.t.Errorf("%s: %q, not %q", name, got, text)
		}
	}
	for _, name := range gone {
		if !u.gone(name) {
			u.t.Errorf("%s is still there", name)
		}
	}
}

// TestPatch: the patch tool adds, changes, deletes and moves files, also into
// folders that are not there.
func TestPatch(t *testing.T) {
	files := map[string]string{"changed": "alpha\nbeta\ngamma\n", "deleted": "bye\n", "moved": "one\ntwo\n"}
	everyWay(t, setting{files: files}, func(t *testing.T, u *turn) {
		said := u.patch(
			"*** Add File: new/folder/added", "+hello", "+wörld",
			"*** Update File: changed", "@@", " alpha", "-beta", "+BETA", " gamma",
			"*** Delete File: deleted",
			"*** Update File: moved", "*** Move to: other/place", "@@", " one", "-two", "+three",
		)
		if !strings.Contains(said, "Success") {
			t.Errorf("the tool says %q", said)
		}
		u.expectFiles(map[string]string{
			"new/folder/added": "hello\nwörld\n", "changed": "alpha\nBETA\ngamma\n", "other/place": "one\nthree\n",
		}, "deleted", "moved")
	})
}

// TestPatchThatFails: the model learns why, and nothing is changed.
func TestPatchThatFails(t *testing.T) {
	everyWay(t, setting{files: map[string]string{"file": "one\n", "folder/in it": ""}}, func(t *testing.T, u *turn) {
		for _, attempt := range []struct {
			lines []string
			want  string
		}{
			{[]string{"*** Update File: missing", "@@", "-a", "+b"}, "No such file or directory"},
			{[]string{"*** Update File: file", "@@", "-two", "+three"}, "Failed to find expected lines"},
			{[]string{"*** Add File: file/below", "+x"}, "Failed to write file"},
			{[]string{"*** Add File: folder", "+x"}, "Failed to write file"},
		} {
			if said := u.patch(attempt.lines...); !strings.Contains(said, attempt.want) || strings.Contains(said, "Success") {
				t.Errorf("%q: the tool says %q", attempt.lines, said)
			}
		}
		u.expectFiles(map[string]string{"file": "one\n", "folder/in it": ""})
	})
}

// TestLargePatch: a file of some MB comes and goes as one message.
func TestLargePatch(t *testing.T) {
	text := strings.Repeat(strings.Repeat("x", 79)+"\n", 40_000)
	everyWay(t, setting{files: map[string]string{"file": text + "the end\n"}}, func(t *testing.T, u *turn) {
		if said := u.patch("*** Update File: file", "@@", "-the end", "+the very end"); !strings.Contains(said, "Success") {
			t.Errorf("the tool says %q", said)
		}
		if u.content("file") != text+"the very end\n" {
			t.Error("the file is not as it should be")
		}
	})
}

// TestPatchInCommand: a patch that is given to the shell is applied by the agent.
func TestPatchInCommand(t *testing.T) {
	everyWay(t, setting{}, func(t *testing.T, u *turn) {
		r := u.run(command{Cmd: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: added\n+yes\n*** End Patch\nEOF\n"})
		if !strings.Contains(r.said, "Success") {
			t.Errorf("the tool says %q", r.said)
		}
		u.expectFiles(map[string]string{"added": "yes\n"})
	})
}

// TestInstructions: the model is told the instructions of the folder and of those
// above up to the repository, and which skills there are.
func TestInstructions(t *testing.T) {
	files := map[string]string{
		".git/HEAD":                      "",
		"AGENTS.md":                      "instructions-of-the-root\n",
		"inner/AGENTS.md":                "instructions-that-are-overridden\n",
		"inner/AGENTS.override.md":       "instructions-of-the-folder\n",
		"other/AGENTS.md":                "instructions-of-elsewhere\n",
		".agents/skills/zebra/SKILL.md":  "---\nname: zebra\ndescription: Knows about stripes.\n---\nCount them.\n",
		".agents/skills/zebra/notes.txt": "not a skill\n",
	}
	everyWay(t, setting{files: files, dir: "inner"}, func(t *testing.T, u *turn) {
		said := string(bytes.Join(rawInput(u.asked), nil))
		for text, want := range map[string]bool{
			"instructions-of-the-root": true, "instructions-of-the-folder": true, "zebra: Knows about stripes.": true,
			"instructions-that-are-overridden": false, "instructions-of-elsewhere": false, "not a skill": false,
		} {
			if strings.Contains(said, text) != want {
				t.Errorf("the model is told %q: %t", text, !want)
			}
		}
		// A model that wants to use a skill reads it.
		r := u.run(command{Cmd: "cat " + u.path(".agents/skills/zebra/SKILL.md")})
		u.expect(r, 0, files[".agents/skills/zebra/SKILL.md"])
	})
}

// rawInput returns the pieces of what has been said so far.
func rawInput(r request) [][]byte {
	var pieces [][]byte
	for _, piece := range r.Input {
		pieces = append(pieces, piece)
	}
	return pieces
}

// TestImage: the model gets to see an image, as it is in the file.
func TestImage(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	everyWay(t, setting{files: map[string]string{"image.png": picture.String(), "folder/file": ""}}, func(t *testing.T, u *turn) {
		view := func(name string) string {
			return u.call(function(t, "view_image", map[string]string{"path": u.path(name)})).text()
		}
		if seen := view("image.png"); !strings.Contains(seen, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture.Bytes())) {
			t.Errorf("the model sees %q", seen)
		}
		for name, want := range map[string]string{
			"missing.png": "unable to locate image at `" + u.path("missing.png") + "`: No such file or directory (os error 2)",
			"folder":      "is not a file",
		} {
			if said := view(name); !strings.Contains(said, want) {
				t.Errorf("%s: the tool says %q", name, said)
			}
		}
	})
}
