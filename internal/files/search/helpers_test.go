package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tb is what tests and rapid's tests have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// files makes a tree of files. A name that ends with a slash is a directory, and
// a text that begins with "-> " is the target of a symbolic link.
func files(t tb, dir string, tree map[string]string) {
	t.Helper()
	for name, text := range tree {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		err := os.MkdirAll(parent, 0o755)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else if parent != path && err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func uri(t tb, path string) protocol.PathURI {
	t.Helper()
	u, err := protocol.PathURIFromNative(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// never is the time of those who have enough of it.
func never() bool { return false }

// onePage makes one page, with a time of its own.
func onePage(ctx context.Context, t tb, p *protocol.SearchParams, over func() bool) *protocol.SearchResult {
	t.Helper()
	q, err := newQuery(p)
	if err != nil {
		t.Fatal(err)
	}
	from, err := q.resume(p.After)
	if err != nil {
		t.Fatal(err)
	}
	root, err := p.Path.Native()
	if err != nil {
		t.Fatal(err)
	}
	s := &search{query: q, root: root, from: from, over: over}
	result, err := s.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// result is what all pages of a search have together.
type result struct {
	matches []protocol.SearchMatch
	errors  []protocol.WalkError
	pages   int
}

// all goes through all pages.
func all(ctx context.Context, t tb, p protocol.SearchParams, over func() bool) (r result) {
	t.Helper()
	for {
		page := onePage(ctx, t, &p, over)
		r.matches = append(r.matches, page.Matches...)
		r.errors = append(r.errors, page.Errors...)
		if r.pages++; page.Next == nil {
			return r
		}
		if p.After != nil && *page.Next == *p.After {
			t.Fatalf("page %d does not get on: %v", r.pages, page)
		}
		p.After = page.Next
	}
}

// short says where matches are, and their texts, in one text for each: path below
// the root:line:start-end:text.
func short(t tb, root string, matches []protocol.SearchMatch) []string {
	t.Helper()
	var lines []string
	for _, m := range matches {
		path, err := m.Path.Native()
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s:%d:%d-%d:%s", filepath.ToSlash(rel), m.Line, m.Start, m.End, m.Text))
	}
	return lines
}
