package search

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

func TestCursor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := &query{digest: rapid.Uint64().Draw(t, "digest")}
		p := position{path: rapid.String().Draw(t, "path")}
		if p.offset = rapid.Int64Range(0, mostOffset).Draw(t, "offset"); p.offset > 0 || rapid.Bool().Draw(t, "begins") {
			p.line = rapid.Uint64Range(1, uint64(p.offset)+1).Draw(t, "line")
			p.within = rapid.Bool().Draw(t, "within")
		}
		token := q.token(p)
		if got, err := q.resume(&token); err != nil || got != p {
			t.Fatalf("%+v became %+v, %v", p, got, err)
		}
		q.digest++
		if _, err := q.resume(&token); err == nil || !strings.Contains(err.Error(), "another search") {
			t.Fatalf("a cursor of another search: %v", err)
		}
	})
}

// TestDigest asserts that all that changes what is found changes the digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	seen := map[uint64]int{}
	for i, p := range []protocol.SearchParams{
		{},
		{Path: uri(t, t.TempDir())},
		{Pattern: "a"},
		{Include: []string{"a"}},
		{Include: []string{"a", ""}},
		{Exclude: []string{"a"}},
		{Include: []string{"a"}, Exclude: []string{"a"}},
		{Include: []string{"a", "a"}},
		{Regexp: true},
		{IgnoreCase: true},
		{IgnoreFiles: true},
		{Hidden: true},
	} {
		d := digest(&p)
		if other, taken := seen[d]; taken {
			t.Errorf("searches %d and %d have the same digest", i, other)
		}
		seen[d] = i
	}
	if digest(&protocol.SearchParams{}) != digest(&protocol.SearchParams{MaxMatches: new(uint64(3)), After: new("x")}) {
		t.Error("a page has a digest of its own")
	}
}

// TestMadeUpCursors asserts that a cursor that is made up finds nothing that is
// not below the root, and nothing that is not there.
func TestMadeUpCursors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{"secret": "foo\n", "d/a": "foo\nfoo\n", "d/b": "foo\n"})
	p := protocol.SearchParams{Path: uri(t, root+"/d"), Pattern: "foo"}
	q, err := newQuery(&p)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		at   position
		want int
	}{
		{position{path: "../secret", line: 1}, 3},
		{position{path: "/etc/passwd", line: 1}, 3},
		{position{path: "a", line: 1}, 3},
		{position{path: "a", line: 5, offset: 4}, 2},
		{position{path: "a", line: 1, offset: 0, within: true}, 2},
		{position{path: "a", line: 1, offset: mostOffset}, 1},
		{position{path: "a/x", line: 1}, 1},
		{position{path: "aa", line: 1}, 1},
		{position{path: "zzz", line: 1}, 0},
	} {
		p.After = new(q.token(test.at))
		if got, err := Search(t.Context(), &p); err != nil || len(got.Matches) != test.want || len(got.Errors) > 0 {
			t.Errorf("%+v: %v, %v", test.at, got, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	q := &query{digest: 1}
	f.Add(q.token(position{}))
	f.Add(q.token(position{path: "a/b", offset: 77, line: 3, within: true}))
	f.Add(q.token(behind("\xff/..")))
	f.Add(q.token(position{path: "a", offset: mostOffset + 1, line: 1}))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01")))
	f.Fuzz(func(t *testing.T, token string) {
		p, digest, err := parseCursor(token)
		if err != nil {
			return
		}
		if p.offset < 0 || p.line == 0 && p.offset > 0 {
			t.Errorf("%q: %+v", token, p)
		}
		q := &query{digest: digest}
		again, err := q.resume(new(q.token(p)))
		if err != nil || again != p {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}
