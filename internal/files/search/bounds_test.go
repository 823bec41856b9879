package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// TestErrors has more ignore files that are too large than errors are told.
func TestErrors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range limits.SearchErrors + 1 {
		dir := fmt.Sprintf("%s/%03d", root, i)
		files(t, dir, map[string]string{"f": "foo", ".ignore": "f\n"})
		size := int64(limits.IgnoreBytes)
		if i > 0 {
			size++
		}
		if err := os.Truncate(dir+"/.ignore", size); err != nil {
			t.Fatal(err)
		}
	}
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo", IgnoreFiles: true}
	page := onePage(t.Context(), t, &p, never)
	if len(page.Errors) != limits.SearchErrors || len(page.Matches) != limits.SearchErrors {
		t.Fatalf("%d errors, %d matches", len(page.Errors), len(page.Matches))
	}
	p.MaxMatches = new(uint64(50))
	if again := all(t.Context(), t, p, never); len(again.errors) != limits.SearchErrors {
		t.Errorf("on %d pages there are %d errors", again.pages, len(again.errors))
	}
	first := page.Errors[0]
	if first.Path != uri(t, root+"/001/.ignore") || !strings.Contains(first.Message, "more than 262144 bytes") {
		t.Errorf("%+v", first)
	}
}

// TestHeld has many files of which each fills a page, so that those that are
// searched ahead of it find more than is to be held.
func TestHeld(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const number = 24
	text := strings.Repeat(strings.Repeat("x", limits.SearchTextBytes-4)+"foo\n", limits.SearchMatches)
	for i := range number {
		files(t, root, map[string]string{fmt.Sprint(i): text})
	}
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}
	q, err := newQuery(&p)
	if err != nil {
		t.Fatal(err)
	}
	s := &search{query: q, root: root, over: never}
	w := newWalk(s)
	for i := range number {
		w.files <- &job{at: position{path: fmt.Sprint(i), line: 1}}
	}
	close(w.files)
	w.work(t.Context()) // with nobody who takes what is found
	if held := s.held.Load(); held < limits.SearchHeldBytes || held > limits.SearchHeldBytes+2*limits.SearchBytes {
		t.Errorf("%d bytes are held", held)
	}
	if r := all(t.Context(), t, p, never); len(r.matches) != number*limits.SearchMatches {
		t.Errorf("%d matches", len(r.matches))
	}
}

// TestManyEntries has a directory with more entries than can be held.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 2*batch + 1 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := readDir(t.Context(), root, false, 2*batch+1); err != nil || len(all) != 2*batch+1 {
		t.Error(len(all), err)
	}
	if all, err := readDir(t.Context(), root, false, 2*batch); err == nil || len(all) != 0 {
		t.Error(len(all), err)
	}
}

// TestNothingFound asserts that lists are empty rather than missing.
func TestNothingFound(t *testing.T) {
	t.Parallel()
	got, err := Search(t.Context(), &protocol.SearchParams{Path: uri(t, t.TempDir()), Pattern: "foo"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := protocol.Encode(got); err != nil || string(text) != `{"matches":[],"errors":[]}` {
		t.Errorf("%s, %v", text, err)
	}
}

// TestTime asserts that a page ends when its time is up, with a directory too
// large for one, and that each gets on all the same.
func TestTime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{"a/b/1": "foo", "a/b/2": "foo", "a/c/": "", "d": "foo"})
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}
	r := all(t.Context(), t, p, func() bool { return true })
	if len(r.matches) != 3 || r.pages < 3 {
		t.Errorf("%d matches on %d pages", len(r.matches), r.pages)
	}
}

// TestLeftOutTakesTime asserts that a page ends also while it comes upon nothing but
// what is left out: to find that out may take long.
func TestLeftOutTakesTime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const number = 20
	for i := range number {
		files(t, root, map[string]string{fmt.Sprintf("%02d.c", i): "foo", fmt.Sprintf("%02d/f", i): "foo"})
	}
	for _, p := range []protocol.SearchParams{
		{Include: []string{"*.go"}, Exclude: []string{"[0-9]*/"}},
		{Exclude: []string{"*"}},
		{IgnoreFiles: true},
	} {
		if p.IgnoreFiles {
			files(t, root, map[string]string{".ignore": "*.c\n[0-9]*/\n"})
		}
		p.Path, p.Pattern = uri(t, root), "foo"
		r := all(t.Context(), t, p, func() bool { return true })
		if len(r.matches) > 0 || r.pages < 2*number {
			t.Errorf("%+v: %d matches on %d pages", p, len(r.matches), r.pages)
		}
	}
}

// TestIgnoreFilesTogether has ignore files in each other's directories, which are
// too much together.
func TestIgnoreFilesTogether(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	rule := func(name string, size int) string { return name + "\n" + strings.Repeat("#", size-len(name)-1) }
	const half = limits.IgnoreBytes / 2
	files(t, top, map[string]string{
		".git/":           "",
		".gitignore":      rule("w", half), // above the root
		"r/w":             "foo",
		"r/x/.gitignore":  rule("x", half),
		"r/x/x":           "foo",
		"r/x/y/.ignore":   "f",
		"r/x/y/f":         "foo",
		"r/x/y/x":         "foo",
		"r/z/.gitignore":  rule("f", half-1),
		"r/z/.ignore":     "g",
		"r/z/f":           "foo",
		"r/z/g":           "foo",
		"r/z/h":           "foo",
		"r/z/a/.ignore":   "h",
		"r/z/a/h":         "foo",
		"r/z/a/b/.ignore": "",
	})
	root := top + "/r"
	r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root), Pattern: "foo", IgnoreFiles: true}, never)
	got := strings.Join(short(t, root, r.matches), " ")
	if want := "x/y/f:1:0-3:foo z/a/h:1:0-3:foo z/h:1:0-3:foo"; got != want {
		t.Errorf("found %s, not %s", got, want)
	}
	var wrong []string
	for _, e := range r.errors {
		wrong = append(wrong, strings.TrimPrefix(e.Path.String(), uri(t, root).String()))
	}
	if got, want := strings.Join(wrong, " "), "/x/y/.ignore /z/a/.ignore"; got != want {
		t.Errorf("not followed: %s, not %s", got, want)
	}
}

// TestTurns asserts that no more searches than the limit are at work, and that
// one that waits for its turn can be given up.
func TestTurns(t *testing.T) {
	root := t.TempDir()
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}
	var others []func()
	for range limits.Searches {
		done, err := places.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, done)
	}
	why := errors.New("given up")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := Search(ctx, &p)
		done <- err
	}()
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Error(err)
	}
	others[0]()
	if _, err := Search(t.Context(), &p); err != nil {
		t.Error(err)
	}
	for _, done := range others[1:] {
		done()
	}
}

// TestDeadline asserts that the time of a search begins with its turn.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		files(t, root, map[string]string{"a": "foo"})
		time.Sleep(2 * limits.SearchTime)
		got, err := Search(t.Context(), &protocol.SearchParams{Path: uri(t, root), Pattern: "foo"})
		if err != nil || len(got.Matches) != 1 || got.Next != nil {
			t.Error(got, err)
		}
	})
}

// TestGivenUp ends the context of searches at any moment.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 200 {
		files(t, root, map[string]string{fmt.Sprintf("%d/%d", i%20, i): strings.Repeat("foo\n", 100)})
	}
	p := protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}
	for after := 1; after < 400; after += 13 {
		ctx, cancel := context.WithCancel(t.Context())
		var lock sync.Mutex
		asked := 0
		q, err := newQuery(&p)
		if err != nil {
			t.Fatal(err)
		}
		s := &search{query: q, root: root, over: func() bool {
			lock.Lock()
			defer lock.Unlock()
			if asked++; asked == after {
				cancel()
			}
			return false
		}}
		got, err := s.run(ctx)
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			t.Error(err)
		case err == nil && len(got.Matches) != limits.SearchMatches:
			t.Errorf("a search that was given up has answered with %d matches", len(got.Matches))
		}
		cancel()
	}
}

// TestChangingTree searches while others remove and make what is searched.
func TestChangingTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree := map[string]string{"still": "foo\n"}
	for i := range 30 {
		tree[fmt.Sprintf("d%d/e/f%d", i%5, i)] = "foo\n"
	}
	files(t, root, tree)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(root, fmt.Sprintf("d%d", i%5))
			_ = os.RemoveAll(dir)
			switch i % 3 {
			case 0:
				_ = os.WriteFile(dir, []byte("foo\n"), 0o644)
			case 1:
				_ = os.MkdirAll(dir+"/e/f1", 0o755)
				_ = os.WriteFile(dir+"/x", []byte("foo\n"), 0o644)
			}
		}
	})
	for range 100 {
		r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}, never)
		if n := len(r.matches); n == 0 || r.matches[n-1].Path != uri(t, root+"/still") {
			t.Errorf("what stands still is not found: %v", r.matches)
		}
		if len(r.errors) > 0 {
			t.Errorf("errors: %v", r.errors)
		}
	}
	close(stop)
	changes.Wait()
}
