package ignore

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree is ignore files by their directories, "" being the top.
type tree map[string]string

// ignored tells what a tree says of a path, which is a directory if it ends with
// a slash: whatever is below what is left out is left out, too.
func (files tree) ignored(path string) bool {
	var c *Chain
	path, isDir := strings.CutSuffix(path, "/")
	segments := strings.Split(path, "/")
	for i := range segments {
		above := strings.Join(segments[:i], "/")
		if text, ok := files[above]; ok {
			c = c.Below(above, Parse([]byte(text)))
		}
		if c.Ignored(strings.Join(segments[:i+1], "/"), isDir || i < len(segments)-1) {
			return true
		}
	}
	return false
}

var cases = []struct {
	files tree
	path  string
	want  bool
}{
	{tree{}, "a", false},
	{tree{"": "a"}, "a", true},
	{tree{"": "a"}, "b/a", true},
	{tree{"": "a"}, "a/b", true},
	{tree{"": "a"}, "ab", false},
	{tree{"": "/a"}, "a", true},
	{tree{"": "/a"}, "b/a", false},
	{tree{"": "b/a"}, "b/a", true},
	{tree{"": "b/a"}, "c/b/a", false},
	{tree{"": "a/"}, "a", false},
	{tree{"": "a/"}, "a/", true},
	{tree{"": "a/"}, "b/a/", true},
	{tree{"": "a/"}, "a/b", true},
	{tree{"": "b/a/"}, "b/a/c", true},
	{tree{"": "*.o\n!keep.o"}, "a.o", true},
	{tree{"": "*.o\n!keep.o"}, "keep.o", false},
	{tree{"": "!keep.o\n*.o"}, "keep.o", true}, // the last decides
	{tree{"": "d/\n!d/keep"}, "d/keep", true},  // not below what is left out
	{tree{"": "d/*\n!d/keep"}, "d/keep", false},
	{tree{"": "d/*\n!d/keep"}, "d/other", true},
	{tree{"": "*.o", "d": "!*.o"}, "d/a.o", false}, // the nearest decides
	{tree{"": "*.o", "d": "!*.o"}, "e/a.o", true},
	{tree{"d": "/a"}, "d/a", true},
	{tree{"d": "/a"}, "d/d/a", false},
	{tree{"d": "e/a"}, "d/e/a", true},
	{tree{"d": "e/a"}, "e/a", false},
	{tree{"": "# a"}, "# a", false},
	{tree{"": `\# a`}, "# a", true},
	{tree{"": `\!a`}, "!a", true},
	{tree{"": "a  "}, "a", true},
	{tree{"": `a\  `}, "a ", true},
	{tree{"": `a\  `}, "a", false},
	{tree{"": "a\t"}, "a", false},
	{tree{"": "a\r\nb\r\n"}, "a", true},
	{tree{"": "\ufeffa"}, "a", true},
	{tree{"": "\n\n  \n"}, " ", false},
	{tree{"": "/"}, "a", false},
	{tree{"": "!"}, "a", false},
	{tree{"": "*"}, "a/b", true},
	{tree{"": "**"}, "a/b", true},
	{tree{"": "**/a"}, "a", true},
	{tree{"": "**/a"}, "b/c/a", true},
	{tree{"": "**/a/b"}, "c/a/b", true},
	{tree{"": "a/**"}, "a", false},
	{tree{"": "a/**"}, "a/", false},
	{tree{"": "a/**"}, "a/b/c", true},
	{tree{"": "a/**/b"}, "a/b", true},
	{tree{"": "a/**/b"}, "a/x/y/b", true},
	{tree{"": "a/**/b"}, "a/xb", false},
	{tree{"": "a**/b"}, "ax/y/b", true}, // against git's manual, but as git does
	{tree{"": "?**/b"}, "ax/y/b", false},
	{tree{"": "a/*/b"}, "a/b", false},
	{tree{"": "a/*/b"}, "a/x/b", true},
	{tree{"": "a/*/b"}, "a/x/y/b", false},
	{tree{"": "/*.o"}, "a.o", true},
	{tree{"": "/*.o"}, "d/a.o", false},
	{tree{"": "a?c"}, "abc", true},
	{tree{"": "x/a?c"}, "x/a/c", false},
	{tree{"": "[ab]"}, "b", true},
	{tree{"": "[!ab]"}, "b", false},
	{tree{"": "[^ab]"}, "c", true},
	{tree{"": "[]-]x"}, "]x", true},
	{tree{"": "[]-]x"}, "-x", true},
	{tree{"": "[a-c-e]"}, "d", false},
	{tree{"": "[a-c-e]"}, "-", true},
	{tree{"": "[z-a]"}, "m", false},
	{tree{"": `[\]a]`}, "]", true},
	{tree{"": "[[:digit:]x]"}, "7", true},
	{tree{"": "[[:digit:]x]"}, "x", true},
	{tree{"": "[[:digit:]x]"}, ":", false},
	{tree{"": "[[:nothing:]]"}, "n", false},
	{tree{"": "x[[:a]"}, "x:", true},
	{tree{"": "x[[:a]"}, "x[", true},
	{tree{"": "[a"}, "[a", false},
	{tree{"": `a\`}, `a\`, false},
	{tree{"": "{a,b}"}, "a", false}, // braces mean nothing
	{tree{"": "{a,b}"}, "{a,b}", true},
	{tree{"": "d/[!x]y"}, "d//y", false},
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	for _, test := range cases {
		if got := test.files.ignored(test.path); got != test.want {
			t.Errorf("%q: %q ignored: %v", test.files, test.path, got)
		}
	}
}

// git asks git which of the paths it would leave out. It sees which are
// directories.
func (files tree) git(t *testing.T, paths []string) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	run := func(input string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	run("", "init", "-q")
	asked := make([]string, len(paths))
	for i, path := range paths {
		path, isDir := strings.CutSuffix(path, "/")
		asked[i] = path
		name := filepath.Join(dir, filepath.FromSlash(path))
		if !isDir {
			name = filepath.Dir(name)
		}
		if err := os.MkdirAll(name, 0o755); err != nil {
			return nil // they don't go together
		}
	}
	for d, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil
		}
		if err := os.WriteFile(filepath.Join(dir, d, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := run(strings.Join(asked, "\x00"), "check-ignore", "--no-index", "-z", "--stdin")
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(out, "\x00") {
		ignored[path] = true
	}
	return ignored
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
}

// TestAsGit asserts that the table of TestIgnored is right.
func TestAsGit(t *testing.T) {
	t.Parallel()
	needGit(t)
	for _, test := range cases {
		if strings.Contains(test.path, "//") {
			continue
		}
		if got := test.files.git(t, []string{test.path})[strings.TrimSuffix(test.path, "/")]; got != test.want {
			t.Errorf("%q: git ignores %q: %v", test.files, test.path, got)
		}
	}
}

func lines() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "b", "ab", "*", "?", "**", "/", "/", "/**/", "[ab]", "[!a]", "*b", "[a-b]", `\a`, "[[:alpha:]]",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "", "!"}).Draw(t, "not") +
			strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "") +
			rapid.SampledFrom([]string{"", "", "/", " "}).Draw(t, "end")
	})
}

// TestLikeGit compares random files with git.
func TestLikeGit(t *testing.T) {
	t.Parallel()
	needGit(t)
	var paths []string
	names := []string{"a", "b", "ab", "ba"}
	for _, x := range names {
		for _, y := range names {
			for _, z := range names {
				paths = append(paths, x+"/"+y+"/"+z)
			}
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		files := tree{"": strings.Join(rapid.SliceOfN(lines(), 1, 4).Draw(r, "top"), "\n")}
		if rapid.Bool().Draw(r, "nested") {
			files["a"] = strings.Join(rapid.SliceOfN(lines(), 1, 3).Draw(r, "below"), "\n")
		}
		want := files.git(t, paths)
		for _, path := range paths {
			if got := files.ignored(path); got != want[path] {
				r.Fatalf("%q: %q ignored: %v; by git: %v", files, path, got, want[path])
			}
		}
	})
}

// TestStepsAreBounded has globs that take a naive matcher for ever.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	for _, line := range []string{strings.Repeat("*a", 300) + "b", strings.Repeat("**/*a*/", 300) + "b"} {
		r := Parse([]byte(line))
		path := strings.Repeat("aaaaaaaa/", 200) + strings.Repeat("a", 2000)
		if r.judge(path, path[strings.LastIndexByte(path, '/')+1:], false) != silent {
			t.Errorf("%.20q matches", line)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range cases {
		f.Add([]byte(test.files[""]), test.path)
	}
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		r := Parse(data)
		if len(r.rules) > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%d rules in %q", len(r.rules), data)
		}
		var c *Chain
		c.Below("", r).Ignored(path, len(data)%2 == 0)
	})
}
