package search

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// drawTree draws files whose paths and lines are likely to tempt a search to take
// one for another.
func drawTree(t *rapid.T) map[string]string {
	name := rapid.SampledFrom([]string{"a", "a.", "a-", "a0", "b", "\xff", ".h", "é"})
	line := rapid.SampledFrom([]string{"", "x", "foo", "Foo bar", "a foo foo", "foo\r", "\r", "\xfffoo", "xfo"})
	tree := map[string]string{}
	for range rapid.IntRange(0, 12).Draw(t, "files") {
		path := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
		if slices.ContainsFunc(slices.Collect(maps.Keys(tree)), func(other string) bool {
			return strings.HasPrefix(other+"/", path+"/") || strings.HasPrefix(path+"/", other+"/")
		}) {
			continue // it can't be a file and a directory
		}
		tree[path] = strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), "\n")
	}
	return tree
}

// naive searches a tree as simply as can be.
func naive(t *rapid.T, root string, tree map[string]string, re *regexp.Regexp, hidden bool) (found []protocol.SearchMatch) {
	paths := slices.Sorted(maps.Keys(tree))
	for _, path := range paths {
		if !hidden && strings.Contains("/"+path, "/.") {
			continue
		}
		offset := 0
		for i, line := range strings.SplitAfter(tree[path], "\n") {
			text, ended := strings.CutSuffix(line, "\n")
			if ended {
				text = strings.TrimSuffix(text, "\r")
			}
			if loc := re.FindStringIndex(text); loc != nil && (line != "" || i == 0 && tree[path] != "") {
				found = append(found, protocol.SearchMatch{
					Path: uri(t, filepath.Join(root, path)), Line: uint64(i + 1), Offset: uint64(offset),
					Start: uint64(loc[0]), End: uint64(loc[1]), Text: string([]rune(text)),
				})
			}
			offset += len(line)
		}
	}
	return found
}

// TestPaging asserts that pages of any size, ended by the time at any moment, are
// together what a simple search finds, in order.
func TestPaging(t *testing.T) {
	t.Parallel()
	if os.PathSeparator != '/' {
		t.Skip("the names are not allowed here")
	}
	var trees atomic.Int64
	parent := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		root := filepath.Join(parent, string(rune('a'+trees.Add(1)%26)))
		if err := os.RemoveAll(root); err != nil {
			r.Fatal(err)
		}
		if err := os.Mkdir(root, 0o755); err != nil {
			r.Fatal(err)
		}
		tree := drawTree(r)
		files(r, root, tree)
		pattern := rapid.SampledFrom([]string{"foo", "fo", "o$", "^", "[fF]oo", "(?i)FOO", `\br`, "x*"}).Draw(r, "pattern")
		p := protocol.SearchParams{
			Path: uri(r, root), Pattern: pattern, Regexp: true,
			Hidden:     rapid.Bool().Draw(r, "hidden"),
			MaxMatches: new(rapid.Uint64Range(1, 5).Draw(r, "most")),
		}
		if pattern == "foo" {
			p.Regexp = rapid.Bool().Draw(r, "regexp")
		}
		luck := rapid.Uint64Range(0, 3).Draw(r, "luck")
		var asked atomic.Uint64
		got := all(t.Context(), r, p, func() bool { return luck > 0 && asked.Add(1)%luck == 0 })
		want := naive(r, root, tree, regexp.MustCompile(pattern), p.Hidden)
		if diff := cmp.Diff(want, got.matches, cmp.Comparer(func(a, b protocol.PathURI) bool { return a == b })); diff != "" {
			r.Fatalf("%q in %q, %d pages: %s", pattern, tree, got.pages, diff)
		}
	})
}

// TestPageBytes has lines so long that a page is full before it has the matches
// that were asked for.
func TestPageBytes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	line := strings.Repeat("\xff", 4*limits.SearchTextBytes) + "foo\n"
	files(t, root, map[string]string{"f": strings.Repeat(line, 900), "g": strings.Repeat(line, 900)})
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}
	page := onePage(t.Context(), t, &p, never)
	size := 0
	for _, m := range page.Matches {
		size += len(m.Text) + len(m.Path.String())
	}
	if size < limits.SearchBytes || size > limits.SearchBytes+4*limits.SearchTextBytes {
		t.Errorf("a page of %d bytes", size)
	}
	r := all(t.Context(), t, p, never)
	if len(r.matches) != 1800 || r.pages < 2 {
		t.Errorf("%d matches on %d pages", len(r.matches), r.pages)
	}
	for i, m := range r.matches {
		if want := uint64(i%900 + 1); m.Line != want {
			t.Fatalf("match %d is in line %d", i, m.Line)
		}
	}
}

// TestMoreThanAhead has more files than are searched ahead of the page, and
// directories with many neighbours.
func TestMoreThanAhead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree := map[string]string{}
	for d := range 40 {
		for f := range 2 * limits.SearchAhead / 40 {
			tree[string([]byte{'a' + byte(d/26), 'a' + byte(d%26), '/', 'a' + byte(f)})] = "foo\nbar\nfoo\n"
		}
	}
	files(t, root, tree)
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo", MaxMatches: new(uint64(7))}
	r := all(t.Context(), t, p, never)
	if len(r.matches) != 2*len(tree) || r.pages < len(r.matches)/7 {
		t.Errorf("%d matches on %d pages", len(r.matches), r.pages)
	}
	if !slices.IsSortedFunc(r.matches, func(a, b protocol.SearchMatch) int {
		return strings.Compare(a.Path.String(), b.Path.String())
	}) {
		t.Error("they are not in order")
	}
}

// TestLongLines has lines of which only the beginning is searched.
func TestLongLines(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	long := bytes.Repeat([]byte("x"), limits.SearchLineBytes)
	text := slices.Concat(
		[]byte("foo1\n"), long[:len(long)-4], []byte("foo2\n"), // just short enough
		long[:len(long)-4], []byte("foo2\r\n"),
		long[:len(long)-3], []byte("foo\n"), // as long as can be
		long, []byte("foo\n"), // just too long
		long, long, long, long, []byte("foo\nfoo5\n"), // longer than the buffer ever is
		[]byte("foo"), long, long, long, []byte("\n"), []byte("foo6"))
	files(t, root, map[string]string{"f": string(text)})
	for _, over := range []func() bool{never, func() bool { return true }} {
		r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}, over)
		var lines []uint64
		for _, m := range r.matches {
			lines = append(lines, m.Line)
			at := m.Offset + m.Start
			if string(text[at:m.Offset+m.End]) != "foo" || !strings.Contains(m.Text, "foo") || len(m.Text) > limits.SearchTextBytes {
				t.Errorf("line %d: %d to %d, text %.40q", m.Line, m.Start, m.End, m.Text)
			}
		}
		if diff := cmp.Diff([]uint64{1, 2, 3, 4, 7, 8, 9}, lines); diff != "" {
			t.Errorf("%d pages: %s", r.pages, diff)
		}
		if len(r.errors) == 0 || !strings.Contains(r.errors[0].Message, "line 5 is longer than 2097152 bytes") {
			t.Errorf("errors: %v", r.errors)
		}
	}
}
