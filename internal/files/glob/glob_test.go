package glob

import (
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	type list = []string
	for _, test := range []struct {
		include, exclude list
		rel              string
		want             bool
	}{
		{nil, nil, "a/b", true},
		{list{"*.go"}, nil, "a.go", true},
		{list{"*.go"}, nil, "x/y/a.go", true}, // no slash: the name
		{list{"*.go"}, nil, "a.go/b", false},
		{list{"*.go", "*.c"}, nil, "x/a.c", true},
		{list{"x/*.go"}, nil, "x/a.go", true},
		{list{"x/*.go"}, nil, "x/y/a.go", false},
		{list{"x/*.go"}, nil, "z/x/a.go", false}, // a slash: the whole path
		{list{"x/**/a.go"}, nil, "x/a.go", true},
		{list{"x/**/a.go"}, nil, "x/y/z/a.go", true},
		{list{"**/x/*"}, nil, "x/a", true},
		{list{"**/x/*"}, nil, "y/x/a", true},
		{list{"x/**"}, nil, "x/y/a", true},
		{list{"x/**"}, nil, "x", false}, // what is below, not a file in its place
		{list{"**"}, nil, "x/y/a", true},
		{list{"*.{go,c}"}, nil, "x/a.c", true},
		{list{"*.{go,c}"}, nil, "x/a.h", false},
		{list{"{a,b/c}/*.go"}, nil, "b/c/x.go", true},
		{list{"{a,{b,c}d}"}, nil, "cd", true},
		{list{"[!a-c]x"}, nil, "dx", true},
		{list{"[!a-c]x"}, nil, "bx", false},
		{list{`\*`}, nil, "*", true},
		{list{`\*`}, nil, "a", false},
		{list{`\{a,b\}`}, nil, "{a,b}", true},
		{list{`[{]a,b\}`}, nil, "{a,b}", true},
		{list{"?"}, nil, "é", true},
		{list{"?"}, nil, "\xff", true}, // no UTF-8
		{nil, list{"*.o"}, "x/a.o", false},
		{nil, list{"*.o"}, "x/a.c", true},
		{nil, list{"x"}, "y/x/a.c", false}, // below a directory that is left out
		{nil, list{"y/x"}, "y/x/a/b", false},
		{nil, list{"y/x"}, "x/a/b", true},
		{nil, list{"x/"}, "x", true}, // directories only
		{nil, list{"x/"}, "x/a", false},
		{nil, list{"x/**"}, "x/a", false},
		{nil, list{"x/**"}, "x", true},
		{list{"*.go"}, list{"x"}, "x/a.go", false},
	} {
		f, err := Compile(test.include, test.exclude)
		if err != nil {
			t.Errorf("Compile(%q, %q): %v", test.include, test.exclude, err)
			continue
		}
		if got := f.Match(test.rel); got != test.want {
			t.Errorf("include %q, exclude %q: Match(%q) = %v", test.include, test.exclude, test.rel, got)
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	type list = []string
	for _, test := range []struct {
		include, exclude list
		rel              string
		want             bool
	}{
		{nil, nil, "a", false},
		{nil, list{"**"}, ".", false},
		{list{"x/y"}, nil, ".", false},
		{nil, list{"a"}, "a", true},
		{nil, list{"a"}, "b/a", true},
		{nil, list{"a"}, "a/b/c", true},
		{nil, list{"a/"}, "a", true},
		{nil, list{"a/**"}, "a", true},
		{nil, list{"a/*"}, "a", false},
		{list{"*.go"}, nil, "a/b", false},
		{list{"a/*.go"}, nil, "a", false},
		{list{"a/*.go"}, nil, "b", true},
		{list{"a/*.go"}, nil, "a/b", true},
		{list{"a/**/*.go"}, nil, "a/b/c", false},
		{list{"a/**/*.go"}, nil, "b", true},
		{list{"**/b/*.go"}, nil, "x/y", false},
		{list{"{a,b}/c/*"}, nil, "b/c", false},
		{list{"{a,b}/c/*"}, nil, "b/d", true},
		{list{"a?/[xy]/z"}, nil, "ab/x", false},
		{list{"a?/[xy]/z"}, nil, "ab/z", true},
	} {
		f, err := Compile(test.include, test.exclude)
		if err != nil {
			t.Errorf("Compile(%q, %q): %v", test.include, test.exclude, err)
			continue
		}
		if got := f.Prune(test.rel); got != test.want {
			t.Errorf("include %q, exclude %q: Prune(%q) = %v", test.include, test.exclude, test.rel, got)
		}
	}
}

// TestCompileRefuses asserts that an error names the glob, says what is wrong
// with it, and has the code of parameters that ask for what can't be.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob string
		want error
	}{
		{"", errEmpty},
		{strings.Repeat("a", limits.GlobBytes+1), errLong},
		{"[a", errSyntax},
		{"{a", errSyntax},
		{`a\`, errSyntax},
		{"[z-a]", nil}, // of the library: no error, and no match
		{"/a", errAbsolute},
		{"a//b", errSegment},
		{"../a", errSegment},
		{"./a", errSegment},
		{"a/./b", errSegment},
		{"a//", errSegment},
		{"{a,}", errSegment},
		{"a/", errDirectory},
		{`a\/b`, errSlash},
		{"[a/b]", errSlash},
		{strings.Repeat("{a,b}", 11), errMany},
		{strings.Repeat("{a,b}", 200), errMany},
	} {
		_, err := Compile([]string{"x", test.glob}, nil)
		if test.want == nil {
			if err != nil {
				t.Errorf("Compile(%q): %v", test.glob, err)
			}
			continue
		}
		wire, ok := err.(*protocol.Error)
		if !ok || wire.Code != protocol.CodeInvalidParams ||
			!strings.HasPrefix(wire.Message, "include: the glob \"") || !strings.HasSuffix(wire.Message, test.want.Error()) {
			t.Errorf("Compile(%.30q) = %v, not %v", test.glob, err, test.want)
		}
		if wire != nil && len(wire.Message) > 500 {
			t.Errorf("Compile(%.30q): an error of %d bytes", test.glob, len(wire.Message))
		}
	}
}

func TestCompileBounds(t *testing.T) {
	t.Parallel()
	most := make([]string, limits.Globs)
	for i := range most {
		most[i] = strings.Repeat("a", limits.SpeltGlobBytes/limits.Globs)
	}
	if _, err := Compile(most[1:], most[:1]); err != nil {
		t.Error(err)
	}
	if _, err := Compile(most, most[:1]); err == nil {
		t.Error("one glob too many is taken")
	}
	if _, err := Compile(most[1:], []string{most[0] + "a"}); err == nil || !strings.HasSuffix(err.Error(), errTogether.Error()) {
		t.Errorf("one byte too many: %v", err)
	}
	if _, err := Compile([]string{strings.Repeat("a", limits.GlobBytes)}, nil); err != nil {
		t.Error(err)
	}
	if _, err := Compile([]string{strings.Repeat("{a,b}", 10)}, nil); err != nil { // limits.SpeltGlobs
		t.Error(err)
	}
	if _, err := Compile([]string{strings.Repeat("{a,b}", 10)}, []string{"a"}); err == nil {
		t.Error("one glob too many is spelt out")
	}
}

// globs draws globs that are likely to match paths that are drawn.
func globs() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "**", "/", "/", "/**/", "{a,b}", "{a,b/a}", "[ab]", "[!a]", "a*"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
	})
}

func paths() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aab"})
		return strings.Join(rapid.SliceOfN(name, 1, 5).Draw(t, "path"), "/")
	})
}

// TestPruneIsSound asserts that nothing is chosen below what need not be looked
// into.
func TestPruneIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, err := Compile(rapid.SliceOfN(globs(), 0, 2).Draw(t, "include"), rapid.SliceOfN(globs(), 0, 2).Draw(t, "exclude"))
		rel := paths().Draw(t, "path")
		if err != nil || !f.Match(rel) {
			return
		}
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			if f.Prune(dir) {
				t.Fatalf("%q is chosen, but %q is not looked into", rel, dir)
			}
		}
	})
}

// TestSpelling asserts that braces mean the same when they are spelt out.
func TestSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		glob, rel := globs().Draw(t, "glob"), paths().Draw(t, "path")
		f, err := Compile([]string{glob}, nil)
		if err != nil || strings.HasSuffix(glob, "**") || strings.Contains(glob, "**{") {
			return
		}
		subject := rel
		if !strings.Contains(glob, "/") {
			subject = path.Base(rel)
		}
		if strings.Contains(glob, "b/a}") {
			return // spelt out, some have a slash and some do not
		}
		if got, want := f.Match(rel), doublestar.MatchUnvalidated(glob, subject); got != want {
			t.Fatalf("%q matches %q: %v, not %v", glob, rel, got, want)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, glob := range []string{"*.go", "a/**/b", "{a,{b,c}}[!x-z]", `\{`, "[]a]", "{,}", "[^/]", strings.Repeat("{a,b}", 9)} {
		f.Add(glob, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, glob, rel string) {
		filter, err := Compile([]string{glob}, nil)
		if err == nil {
			if filter.Match(rel) && filter.Prune(path.Dir(rel)) {
				t.Errorf("%q: %q is chosen below what is not looked into", glob, rel)
			}
		}
		if filter, err = Compile(nil, []string{glob}); err == nil && filter.Prune(rel) && filter.Match(rel+"/x") {
			t.Errorf("%q: what is below %q is chosen", glob, rel)
		}
	})
}
