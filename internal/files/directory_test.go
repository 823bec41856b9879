package files

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func TestReadDirectory(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"b", "a", "B", ".hidden", "a\xff\xfeb", "é"} {
		put(t, dir+"/"+name, "")
	}
	put(t, dir+"/d/x", "")
	link(t, "b", dir+"/link")
	link(t, "d", dir+"/dlink")
	link(t, "gone", dir+"/dangling")
	link(t, "loop", dir+"/loop")
	link(t, "/dev/null", dir+"/null")
	want := []protocol.DirectoryEntry{
		{FileName: ".hidden", IsFile: true},
		{FileName: "B", IsFile: true},
		{FileName: "a", IsFile: true},
		{FileName: "a\ufffd\ufffdb", IsFile: true},
		{FileName: "b", IsFile: true},
		{FileName: "d", IsDirectory: true},
		{FileName: "dlink", IsDirectory: true},
		{FileName: "link", IsFile: true},
		{FileName: "null"},
		{FileName: "é", IsFile: true},
	}
	got, err := connection(t).ReadDirectory(t.Context(), &protocol.ReadDirectoryParams{Path: uri(t, dir)})
	must(t, err)
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = connection(t).ReadDirectory(t.Context(), &protocol.ReadDirectoryParams{Path: uri(t, t.TempDir())})
	if err != nil || got.Entries == nil || len(got.Entries) != 0 {
		t.Errorf("of an empty directory: got %v %v", got, err)
	}
}

// TestListIsBounded: of large directories only so much is held, and it is the same
// as if all had been.
func TestListIsBounded(t *testing.T) {
	dir := folder(t)
	const files = 3 * listedAtOnce
	for i := range files {
		name := dir + "/" + strconv.Itoa(i+10_000)
		if i%3 == 0 {
			link(t, "gone", name) // is not counted
		} else {
			put(t, name, "")
		}
	}
	entries, err := list(t.Context(), dir, true, 10)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	want := strings.Fields("10001 10002 10004 10005 10007 10008 10010 10011 10013 10014")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadDirectoryIsBounded(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"a", "b", "c"} {
		put(t, dir+"/"+name, "")
	}
	if got, err := readDirectory(t.Context(), dir, 3); len(got) != 3 {
		t.Errorf("got %v %v, want all there are", got, err)
	}
	_, err := readDirectory(t.Context(), dir, 2)
	check(t, "one more", err, refused{
		protocol.CodeInternal, "the directory has more than 2 entries, which are too many for an answer; have a command list them",
	})
}

func TestListIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := folder(t)
	put(t, dir+"/f", "")
	if _, err := list(ctx, dir, true, limits.ListedEntries); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestLossy(t *testing.T) {
	for name, want := range map[string]string{
		"plain":            "plain",
		"é\ufffd":          "é\ufffd",
		"a\xff\xfeb":       "a\ufffd\ufffdb",
		"c\xe2\x82":        "c\ufffd",                   // the beginning of a character
		"d\xf0\x9f\x98z":   "d\ufffdz",                  //
		"\xed\xa0\x80":     strings.Repeat("\ufffd", 3), // half a surrogate pair
		"\xc0\x80":         "\ufffd\ufffd",
		"\xf5\x80":         "\ufffd\ufffd",
		"\xe2\x82\xe2\x82": "\ufffd\ufffd",
	} {
		if got := lossy(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func FuzzLossy(f *testing.F) {
	f.Add("a\xff\xf0\x9f\x98z")
	f.Fuzz(func(t *testing.T, name string) {
		got := lossy(name)
		if !utf8.ValidString(got) || utf8.ValidString(name) && got != name || utf8.RuneCountInString(got) > utf8.RuneCountInString(name) {
			t.Errorf("%q: got %q", name, got)
		}
	})
}

func TestCreateDirectory(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	for range 2 {
		_, err := f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: uri(t, dir+"/a/b/c")})
		must(t, err)
	}
	link(t, "a", dir+"/link")
	_, err := f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: uri(t, dir+"/link/new/x")})
	must(t, err)
	for _, made := range []string{"a/b/c", "a/new/x"} {
		if info, err := os.Stat(dir + "/" + made); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", made, err)
		}
	}
	link(t, "gone", dir+"/dangling")
	_, err = f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: uri(t, dir+"/dangling/x")})
	check(t, "below a link to nothing", err, exists)
	link(t, "loop", dir+"/loop")
	_, err = f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: uri(t, dir+"/loop/x")})
	check(t, "below a link to itself", err, loop)
	_, err = f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: parse(t, "file:///")})
	check(t, "the root", err, fine)
	_, err = f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: parse(t, "file:///"), Recursive: no()})
	check(t, "the root alone", err, exists)
}
