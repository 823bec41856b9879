package search

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// sample is a tree that has something of everything.
var sample = map[string]string{
	"a.txt":        "one\ntwo foo\nthree Foo foo\n",
	"a/b.txt":      "foo", // no line feed
	"a/c.go":       "x\r\nfoo\r\ny\r\n",
	"a-b/c.txt":    "foo\n",
	"a0":           "foo\n",
	".hidden":      "foo\n",
	".d/x":         "foo\n",
	"binary":       "foo\n\x00foo\n",
	"late":         "foo\n" + strings.Repeat("x", headBytes) + "\x00\n",
	"latin":        "caf\xe9 foo \xff\xfe\n",
	"empty":        "",
	"emptydir/":    "",
	"link":         "-> a.txt",
	"dirlink":      "-> a",
	"gone":         "-> nothing",
	".gitignore":   "*.log\n/build/\n!keep.log\n",
	"x.log":        "foo\n",
	"keep.log":     "foo\n",
	"build/out":    "foo\n",
	"sub/build/o":  "foo\n",
	"sub/.ignore":  "*.txt\n",
	"sub/t.txt":    "foo\n",
	"sub/x.log":    "foo\n",
	"sub/.git/foo": "foo\n",
}

func TestSearch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, sample)
	const plain = "a-b/c.txt:1:0-3:foo\na.txt:2:4-7:two foo\na.txt:3:6-9:three Foo foo\na/b.txt:1:0-3:foo\na/c.go:2:0-3:foo\na0:1:0-3:foo\n"
	for _, test := range []struct {
		name string
		p    protocol.SearchParams
		want string
	}{
		{
			"order",
			protocol.SearchParams{Pattern: "foo", Include: []string{"a*", "a/*", "a-b/*"}},
			strings.Replace(plain, "6-9", "10-13", 1),
		},
		{"ignoreCase", protocol.SearchParams{Pattern: "FOO", IgnoreCase: true, Include: []string{"a*", "a/*", "a-b/*"}}, plain},
		{"regexp", protocol.SearchParams{Pattern: `^[a-z]+ f[o]{2}$`, Regexp: true}, "a.txt:2:0-7:two foo\n"},
		{"regexp ends before CRLF", protocol.SearchParams{Pattern: `oo$`, Regexp: true, Include: []string{"*.go"}}, "a/c.go:2:1-3:foo\n"},
		{"a literal is none", protocol.SearchParams{Pattern: "f.o"}, ""},
		{"carriage returns at the end are not searched", protocol.SearchParams{Pattern: "\r"}, ""},
		{"no UTF-8", protocol.SearchParams{Pattern: "foo", Include: []string{"latin"}}, "latin:1:5-8:caf\uFFFD foo \uFFFD\uFFFD\n"},
		{"bytes that are no UTF-8, by expression", protocol.SearchParams{Pattern: `\x{FFFD} foo`, Regexp: true}, "latin:1:3-8:caf\uFFFD foo \uFFFD\uFFFD\n"},
		{"NUL behind the head", protocol.SearchParams{Pattern: "foo", Include: []string{"late", "binary"}}, "late:1:0-3:foo\n"},
		{"exclude", protocol.SearchParams{Pattern: "foo", Exclude: []string{"a*", "l*", "*.log", "sub", "build"}}, ""},
		{
			"hidden",
			protocol.SearchParams{Pattern: "foo", Hidden: true, Include: []string{".*", "x"}},
			".d/x:1:0-3:foo\n.hidden:1:0-3:foo\n",
		},
		{
			"ignore files",
			protocol.SearchParams{Pattern: "foo", IgnoreFiles: true, Exclude: []string{"a*", "l*"}},
			"keep.log:1:0-3:foo\nsub/build/o:1:0-3:foo\n",
		},
		{
			"ignore files, hidden",
			protocol.SearchParams{Pattern: "foo", IgnoreFiles: true, Hidden: true, Include: []string{"sub/**"}},
			"sub/.git/foo:1:0-3:foo\nsub/build/o:1:0-3:foo\n",
		},
		{
			"no ignore files",
			protocol.SearchParams{Pattern: "foo", Include: []string{"sub/**", "*.log"}},
			"keep.log:1:0-3:foo\nsub/build/o:1:0-3:foo\nsub/t.txt:1:0-3:foo\nsub/x.log:1:0-3:foo\nx.log:1:0-3:foo\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.p.Path = uri(t, root)
			got, err := Search(t.Context(), &test.p)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			if test.want != "" {
				lines = strings.Split(strings.TrimSuffix(test.want, "\n"), "\n")
			}
			if diff := cmp.Diff(lines, short(t, root, got.Matches)); diff != "" {
				t.Error(diff)
			}
			if len(got.Errors) > 0 || got.Next != nil {
				t.Errorf("errors %v, next %v", got.Errors, got.Next)
			}
		})
	}
}

// TestRoots has what may be searched besides a directory, and what may not.
func TestRoots(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{"d/.f.go": "\nfoo", "link": "-> d", "flink": "-> d/.f.go", "loop": "-> loop"})
	for _, test := range []struct {
		path    string
		include string
		matches int
		code    protocol.Code
	}{
		{path: "d", matches: 0},
		{path: "d/.f.go", matches: 1}, // whoever names it wants it
		{path: "link/.f.go", matches: 1},
		{path: "flink", matches: 1},
		{path: "d/.f.go", include: "*.go", matches: 1},
		{path: "d/.f.go", include: "*.c", matches: 0},
		{path: "nothing", code: protocol.CodeNotFound},
		{path: "d/.f.go/x", code: protocol.CodeInternal},
		{path: "loop", code: protocol.CodeInternal},
	} {
		p := protocol.SearchParams{Path: uri(t, root+"/"+test.path), Pattern: "foo"}
		if test.include != "" {
			p.Include = []string{test.include}
		}
		got, err := Search(t.Context(), &p)
		if test.code != 0 {
			if wire, ok := errors.AsType[*protocol.Error](err); !ok || wire.Code != test.code {
				t.Errorf("%s: %v", test.path, err)
			}
			continue
		}
		if err != nil || len(got.Matches) != test.matches {
			t.Errorf("%s: %v, %v", test.path, got, err)
		}
	}
	p := protocol.SearchParams{Path: uri(t, root+"/link"), Pattern: "foo", Hidden: true}
	if got, err := Search(t.Context(), &p); err != nil || len(got.Matches) != 1 ||
		got.Matches[0].Path != uri(t, root+"/link/.f.go") {
		t.Errorf("a link to a directory: %v, %v", got, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	root := uri(t, t.TempDir())
	restricting := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	tooMany := make([]string, limits.Globs+1)
	for i := range tooMany {
		tooMany[i] = "x"
	}
	for _, test := range []struct {
		name string
		p    protocol.SearchParams
		code protocol.Code
		text string
	}{
		{"no pattern", protocol.SearchParams{}, protocol.CodeInvalidParams, "pattern must not be empty"},
		{"long pattern", protocol.SearchParams{Pattern: strings.Repeat("a", limits.SearchPatternBytes+1)}, protocol.CodeInvalidParams, "longer than"},
		{"lines", protocol.SearchParams{Pattern: "a\nb"}, protocol.CodeInvalidParams, "line feed"},
		{"syntax", protocol.SearchParams{Pattern: "a(", Regexp: true}, protocol.CodeInvalidParams, "missing closing )"},
		{"lookahead", protocol.SearchParams{Pattern: "a(?=b)", Regexp: true}, protocol.CodeInvalidParams, "RE2"},
		{"repetitions", protocol.SearchParams{Pattern: "(?:abcdefghijk){1000}", Regexp: true}, protocol.CodeInvalidParams, "too large"},
		{"repetitions without end", protocol.SearchParams{Pattern: "(((a{30,}){30,}){30,}){30,}", Regexp: true}, protocol.CodeInvalidParams, ""},
		{"no matches", protocol.SearchParams{Pattern: "a", MaxMatches: new(uint64(0))}, protocol.CodeInvalidParams, "between 1 and 1000"},
		{"many matches", protocol.SearchParams{Pattern: "a", MaxMatches: new(uint64(limits.SearchMatches + 1))}, protocol.CodeInvalidParams, "between 1 and 1000"},
		{"glob", protocol.SearchParams{Pattern: "a", Exclude: []string{"[a"}}, protocol.CodeInvalidParams, `exclude: the glob "[a"`},
		{"globs", protocol.SearchParams{Pattern: "a", Include: tooMany}, protocol.CodeInvalidParams, "257 globs"},
		{"after", protocol.SearchParams{Pattern: "a", After: new("")}, protocol.CodeInvalidParams, "after"},
		{"long after", protocol.SearchParams{Pattern: "a", After: new(strings.Repeat("A", limits.SearchCursorBytes+1))}, protocol.CodeInvalidParams, "longer than"},
		{"sandbox", protocol.SearchParams{Pattern: "a", Sandbox: restricting}, protocol.CodeInvalidRequest, "sandbox"},
	} {
		if test.p.Path = root; test.name == "sandbox" {
			test.p.Path = uri(t, "/nothing/there") // it must not even be looked for
		}
		got, err := Search(t.Context(), &test.p)
		wire, ok := errors.AsType[*protocol.Error](err)
		if !ok || wire.Code != test.code || !strings.Contains(wire.Message, test.text) {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

// TestForeignPath has a path of another system.
func TestForeignPath(t *testing.T) {
	t.Parallel()
	foreign, err := protocol.ParsePathURI("file://host/share/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, native := foreign.Native(); native == nil {
		t.Skip("it is one of this system")
	}
	for _, call := range []func() error{
		func() error {
			_, err := Search(t.Context(), &protocol.SearchParams{Path: foreign, Pattern: "a"})
			return err
		},
		func() error {
			_, err := ReadRange(t.Context(), &protocol.ReadRangeParams{Path: foreign, Lines: &protocol.LineRange{First: 1, Count: 1}})
			return err
		},
	} {
		if wire, ok := errors.AsType[*protocol.Error](call()); !ok || wire.Code != protocol.CodeInvalidRequest {
			t.Error(call())
		}
	}
}

// TestRepository asserts that what is said above the root counts within the same
// repository, and nowhere else.
func TestRepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{
		".gitignore":        "*.txt\n",
		"repo/.git/HEAD":    "",
		"repo/.gitignore":   "/a/b/x\n*.log\n",
		"repo/a/.gitignore": "/y\n/b/z\n!keep.log\n",
		"repo/a/b/x":        "foo",
		"repo/a/b/y":        "foo",
		"repo/a/b/z":        "foo",
		"repo/a/b/c.log":    "foo",
		"repo/a/b/keep.log": "foo",
		"repo/a/b/t.txt":    "foo",
		"repo/a/b/c/x":      "foo",
		"link":              "-> repo/a/b",
	})
	want := []string{"c/x:1:0-3:foo", "keep.log:1:0-3:foo", "t.txt:1:0-3:foo", "y:1:0-3:foo"}
	for _, path := range []string{"/repo/a/b", "/link"} {
		r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root+path), Pattern: "foo", IgnoreFiles: true}, never)
		if diff := cmp.Diff(want, short(t, root+path, r.matches)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
