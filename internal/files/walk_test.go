package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// everything are the widest bounds of a walk.
var everything = protocol.WalkOptions{
	MaxDepth: limits.WalkDepth, MaxDirectories: limits.WalkDirectories, MaxEntries: limits.WalkEntries,
}

func walkFrom(tb testing.TB, u protocol.PathURI, options protocol.WalkOptions) *protocol.WalkResult {
	tb.Helper()
	encoded, err := new(Files).AppendWalk(tb.Context(), []byte("before"), &protocol.WalkParams{Path: u, Options: options})
	must(tb, err)
	rest, found := strings.CutPrefix(string(encoded), "before")
	if !found {
		tb.Fatalf("what was there before is lost: %.20q", encoded)
	}
	return decode[protocol.WalkResult](tb, []byte(rest))
}

// names returns what a walk has found, relative to a directory, directories with a
// slash.
func names(result *protocol.WalkResult, root string) string {
	var found []string
	for _, e := range result.Entries {
		name := strings.TrimPrefix(e.Path.String(), root+"/")
		if e.Kind == protocol.EntryDirectory {
			name += "/"
		}
		found = append(found, name)
	}
	return strings.Join(found, " ")
}

func TestWalk(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{".hfile", ".hid/hf", ".hid/in/x", "a/b/c/f4", "a/b/f3", "a/f2", "f1", "z/x"} {
		put(t, dir+"/"+name, "")
	}
	must(t, os.Remove(dir+"/z/x"))
	must(t, os.Remove(dir+"/.hid/in/x"))
	link(t, "..", dir+"/a/up")
	link(t, "a", dir+"/la")
	link(t, "f1", dir+"/lf")
	link(t, "nope", dir+"/dang")
	link(t, "/dev/null", dir+"/null")
	root := uri(t, dir).String()
	with := func(change func(*protocol.WalkOptions)) protocol.WalkOptions {
		options := everything
		change(&options)
		return options
	}
	for _, test := range []struct {
		name      string
		at        string
		options   protocol.WalkOptions
		want      string
		truncated bool
	}{
		{
			"everything", "", everything,
			".hfile .hid/ a/ f1 z/ .hid/hf .hid/in/ a/b/ a/f2 a/b/c/ a/b/f3 a/b/c/f4", false,
		},
		{
			"links", "", with(func(o *protocol.WalkOptions) { o.FollowDirectorySymlinks = true }),
			".hfile .hid/ a/ f1 la/ z/ .hid/hf .hid/in/ a/b/ a/f2 a/up/ a/b/c/ a/b/f3 a/b/c/f4", false,
		},
		{"depth 0", "", with(func(o *protocol.WalkOptions) { o.MaxDepth = 0 }), ".hfile .hid/ a/ f1 z/", false},
		{
			"depth 1", "", with(func(o *protocol.WalkOptions) { o.MaxDepth = 1 }),
			".hfile .hid/ a/ f1 z/ .hid/hf .hid/in/ a/b/ a/f2", false,
		},
		{"3 entries", "", with(func(o *protocol.WalkOptions) { o.MaxEntries = 3 }), ".hfile .hid/ a/", true},
		{
			"7 entries, of which la, lf and null are not told", "", with(func(o *protocol.WalkOptions) { o.MaxEntries = 7 }),
			".hfile .hid/ a/ f1", true,
		},
		{
			"as many entries as there are", "", with(func(o *protocol.WalkOptions) { o.MaxEntries = 16 }),
			".hfile .hid/ a/ f1 z/ .hid/hf .hid/in/ a/b/ a/f2 a/b/c/ a/b/f3 a/b/c/f4", false,
		},
		{
			"2 directories", "", with(func(o *protocol.WalkOptions) { o.MaxDirectories = 2 }),
			".hfile .hid/ a/ f1 z/ .hid/hf .hid/in/", true,
		},
		{
			"nothing hidden", "", with(func(o *protocol.WalkOptions) { o.PruneHiddenDirectories = true }),
			".hfile .hid/ a/ f1 z/ a/b/ a/f2 a/b/c/ a/b/f3 a/b/c/f4", false,
		},
		{
			"from what is hidden", "/.hid", with(func(o *protocol.WalkOptions) { o.PruneHiddenDirectories = true }),
			".hid/hf .hid/in/", false,
		},
		{"through a link on the way", "/la/b", everything, "la/b/c/ la/b/f3 la/b/c/f4", false},
		{"a link", "/la", everything, "", false},
		{"a link with a slash", "/la/", everything, "", false},
		{
			"a link that is followed", "/la", with(func(o *protocol.WalkOptions) { o.FollowDirectorySymlinks = true }),
			"la/b/ la/f2 la/up/ la/b/c/ la/b/f3 " +
				"la/up/.hfile la/up/.hid/ la/up/a/ la/up/f1 la/up/la/ la/up/z/ la/b/c/f4 la/up/.hid/hf la/up/.hid/in/", false,
		},
		{"a file", "/f1", everything, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := walkFrom(t, parse(t, root+test.at), test.options)
			if diff := cmp.Diff(strings.Fields(test.want), strings.Fields(names(got, root))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Truncated != test.truncated || len(got.Errors) > 0 || got.Errors == nil || got.Entries == nil {
				t.Errorf("truncated %v, errors %v", got.Truncated, got.Errors)
			}
		})
	}
}

func TestWalkKeepsTheSpelling(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/A/b\xff #/c", "")
	root := uri(t, dir).String()
	for spelled, want := range map[string]string{
		"/%41":  "/%41/b%FF%20%23 /%41/b%FF%20%23/c",
		"/A/":   "/A/b%FF%20%23 /A/b%FF%20%23/c",
		"/A//":  "/A//b%FF%20%23 /A//b%FF%20%23/c",
		"/./A":  "/A/b%FF%20%23 /A/b%FF%20%23/c",
		"//A/.": "//A/b%FF%20%23 //A/b%FF%20%23/c",
	} {
		result := walkFrom(t, parse(t, root+spelled), everything)
		var got []string
		for _, e := range result.Entries {
			got = append(got, strings.TrimPrefix(e.Path.String(), root))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", spelled, got, want)
		}
	}
}

// TestNamesThatLookLikeDrives are told so that they lead back to the file.
func TestNamesThatLookLikeDrives(t *testing.T) {
	for _, test := range []struct{ dir, uri, name, want string }{
		{"/", "file:///", "etc", "/etc"},
		{"/", "file:///", "C:", "/C:"},
		{"/C:", uri(t, "/C:").String(), "x", "/C:/x"},
		{"/a", "file:///a", "C:", "/a/C:"},
	} {
		got := parse(t, string(newNamer(&walkDir{path: test.dir, uri: test.uri}).append(nil, test.name)))
		if native, err := got.Native(); native != test.want {
			t.Errorf("%s in %s: got %s, which is %q %v", test.name, test.dir, got, native, err)
		}
	}
}

func TestWalkBounds(t *testing.T) {
	zero := refused{protocol.CodeInvalidRequest, "filesystem walk limits must be greater than zero"}
	above := refused{protocol.CodeInvalidRequest, "filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000"}
	for _, test := range []struct {
		depth, directories, entries uint64
		want                        refused
	}{
		{0, 0, 1, zero},
		{0, 1, 0, zero},
		{65, 0, 1, zero}, // this is told first
		{65, 1, 1, above},
		{1, 10001, 1, above},
		{1, 1, 50001, above},
		{1 << 63, 1 << 63, 1 << 63, above},
	} {
		dst, err := new(Files).AppendWalk(t.Context(), []byte("x"), &protocol.WalkParams{
			Path:    parse(t, "file:///C:/x"), // is not looked at before
			Options: protocol.WalkOptions{MaxDepth: test.depth, MaxDirectories: test.directories, MaxEntries: test.entries},
		})
		check(t, "walk", err, test.want)
		if string(dst) != "x" {
			t.Errorf("got %q", dst)
		}
	}
}

// TestWalkIsOfBoundedSize: it ends where one more would be too much.
func TestWalkIsOfBoundedSize(t *testing.T) {
	long := strings.Repeat("\xff", 240) // a byte takes three in a URI
	dir := filepath.Join(folder(t), long, long, long, long)
	const files = 1500
	for i := range files {
		put(t, dir+"/"+long+strconv.Itoa(i+10_000), "")
	}
	u := uri(t, dir)
	got := walkFrom(t, u, everything)
	cost := len(u.String()) + len("/") + 3*len(long) + len("10000") + 64
	if want := limits.WalkBytes / cost; len(got.Entries) != want || want >= files || !got.Truncated {
		t.Errorf("got %d entries, truncated %v; want %d", len(got.Entries), got.Truncated, want)
	}
}

func TestWalkErrorsCount(t *testing.T) {
	r := beginWalk(nil)
	uri := "file:///" + strings.Repeat("x", 1000)
	for !r.full {
		r.addError(uri, "why")
	}
	result := decode[protocol.WalkResult](t, r.end())
	if want := limits.WalkBytes / (len(uri) + 3 + 64); len(result.Errors) != want || !result.Truncated {
		t.Errorf("got %d, want %d", len(result.Errors), want)
	}
}

func TestWalkIsGivenUp(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/a/b/c", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := new(Files).AppendWalk(ctx, nil, &protocol.WalkParams{Path: uri(t, dir), Options: everything})
	if !errors.Is(err, context.Canceled) || len(got) > 0 {
		t.Errorf("got %q %v, want that it was cancelled", got, err)
	}
}

// naive is a walk one after the other, as the dialect describes it.
type naive struct {
	o      protocol.WalkOptions
	result protocol.WalkResult
	looked uint64
	opened uint64
	seen   map[string]bool
}

func (n *naive) walk(tb rapid.TB, root string) {
	type place struct {
		path  string
		depth uint64
	}
	queue := []place{{root, 0}}
	n.opened = 1
	is, err := filepath.EvalSymlinks(root)
	if err != nil {
		tb.Fatal(err)
	}
	n.seen = map[string]bool{is: true}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		list, err := os.ReadDir(at.path)
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range list {
			path := at.path + "/" + e.Name()
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			if n.looked == n.o.MaxEntries {
				n.result.Truncated = true
				return
			}
			n.looked++
			isLink := e.Type()&os.ModeSymlink != 0
			if isLink && (!info.IsDir() || !n.o.FollowDirectorySymlinks) || !info.IsDir() && !info.Mode().IsRegular() {
				continue
			}
			u, err := protocol.PathURIFromNative(path)
			if err != nil {
				tb.Fatal(err)
			}
			kind := protocol.EntryFile
			if info.IsDir() {
				kind = protocol.EntryDirectory
			}
			n.result.Entries = append(n.result.Entries, protocol.WalkEntry{Path: u, Kind: kind})
			if !info.IsDir() || at.depth >= n.o.MaxDepth || n.o.PruneHiddenDirectories && e.Name()[0] == '.' {
				continue
			}
			if n.o.FollowDirectorySymlinks {
				is, err := filepath.EvalSymlinks(path)
				if err != nil {
					tb.Fatal(err)
				}
				if n.seen[is] {
					continue
				}
				n.seen[is] = true
			}
			if n.opened == n.o.MaxDirectories {
				n.result.Truncated = true
				continue
			}
			n.opened++
			queue = append(queue, place{path, at.depth + 1})
		}
	}
}

// TestWalkIsAsIfOneAfterTheOther compares walks of any tree with the naive one.
func TestWalkIsAsIfOneAfterTheOther(t *testing.T) {
	base := folder(t)
	trees := 0
	rapid.Check(t, func(r *rapid.T) {
		trees++
		root := filepath.Join(base, strconv.Itoa(trees))
		must(t, os.Mkdir(root, 0o755))
		defer os.RemoveAll(root)
		dirs := []string{root}
		name := rapid.SampledFrom([]string{"a", "b", "c", ".h", "x y", "é", "\xff", "%41", "Z", "C:"})
		for range rapid.IntRange(0, 25).Draw(r, "files") {
			path := rapid.SampledFrom(dirs).Draw(r, "in") + "/" + name.Draw(r, "name")
			switch rapid.IntRange(0, 3).Draw(r, "kind") {
			case 0, 1:
				if os.Mkdir(path, 0o755) == nil {
					dirs = append(dirs, path)
				}
			case 2:
				if missing(path) {
					put(t, path, "")
				}
			case 3:
				os.Symlink(rapid.SampledFrom(slices.Concat(dirs, []string{"gone", "a", "/dev/null"})).Draw(r, "to"), path)
			}
		}
		options := protocol.WalkOptions{
			MaxDepth:                rapid.Uint64Range(0, 6).Draw(r, "depth"),
			MaxDirectories:          rapid.Uint64Range(1, 12).Draw(r, "directories"),
			MaxEntries:              rapid.Uint64Range(1, 30).Draw(r, "entries"),
			FollowDirectorySymlinks: rapid.Bool().Draw(r, "follow"),
			PruneHiddenDirectories:  rapid.Bool().Draw(r, "prune"),
		}
		want := naive{o: options}
		want.result.Entries, want.result.Errors = []protocol.WalkEntry{}, []protocol.WalkError{}
		want.walk(r, root)
		got := walkFrom(t, uri(t, root), options)
		sameURI := cmp.Comparer(func(a, b protocol.PathURI) bool { return a == b })
		if diff := cmp.Diff(&want.result, got, sameURI); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWalkErrors: what can't be looked into is told, and the walk goes on.
func TestWalkErrors(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/a/x", "")
	put(t, dir+"/b/x", "")
	w := &walk{options: everything, result: beginWalk(nil)}
	for _, name := range []string{"a", "gone", "b"} {
		w.add(&walkDir{uri: uri(t, dir+"/"+name).String(), path: dir + "/" + name})
	}
	must(t, w.run(t.Context()))
	got := decode[protocol.WalkResult](t, w.result.end())
	want := []protocol.WalkError{{Path: uri(t, dir+"/gone"), Message: noFile.text}}
	if !slices.Equal(got.Errors, want) || names(got, uri(t, dir).String()) != "a/x b/x" {
		t.Errorf("got %+v", got)
	}
}
