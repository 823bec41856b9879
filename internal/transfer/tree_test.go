package transfer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

func allFeatures() []string { return protocol.Features() }

// bothTrees runs a test for each direction.
func bothTrees(t *testing.T, test func(t *testing.T, move moveFunc)) {
	t.Run("put", func(t *testing.T) {
		test(t, func(k *kit, ctx context.Context, from, to string) error { return k.PutTree(ctx, from, uriOf(t, to)) })
	})
	t.Run("get", func(t *testing.T) {
		test(t, func(k *kit, ctx context.Context, from, to string) error { return k.GetTree(ctx, uriOf(t, from), to) })
	})
}

// plant makes files, whose names end in a slash for directories.
func plant(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		made := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			made = path
		}
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
		if made != path {
			write(t, path, []byte(name))
		}
	}
}

// harvest lists what is in a directory, as plant takes it.
func harvest(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			path += "/"
		}
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names[1:]
}

func TestTree(t *testing.T) {
	t.Parallel()
	bothTrees(t, func(t *testing.T, move moveFunc) {
		k, from, to := newKit(t), t.TempDir(), filepath.Join(t.TempDir(), "to")
		plant(t, from, "a", "empty/", "sub/b c", "sub/deep/%41", "sub/deep/ü", ".hidden/x")
		plant(t, to, "kept", "sub/b c")
		if err := move(k, t.Context(), from, to); err != nil || k.told != nil {
			t.Fatal(err, k.told)
		}
		want := append(harvest(t, from), "kept")
		slices.Sort(want)
		got := harvest(t, to)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("there is %q, want %q", got, want)
		}
		if text, err := os.ReadFile(filepath.Join(to, "sub", "deep", "ü")); string(text) != "sub/deep/ü" {
			t.Errorf("the file holds %q, %v", text, err)
		}
	})
}

// TestTreeLinks asserts that links to files are followed, that those to directories
// are told of, and that the others come all the same.
func TestTreeLinks(t *testing.T) {
	t.Parallel()
	bothTrees(t, func(t *testing.T, move moveFunc) {
		k, from, to := newKit(t), t.TempDir(), filepath.Join(t.TempDir(), "to")
		plant(t, from, "a", "sub/b")
		for name, target := range map[string]string{"file": "a", "round": "..", "sub/up": ".."} {
			if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
				t.Skip(err)
			}
		}
		if err := move(k, t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		if want, got := []string{"a", "file", "sub/", "sub/b"}, harvest(t, to); !slices.Equal(got, want) {
			t.Errorf("there is %q, want %q", got, want)
		}
		if len(k.told) != 2 || !errors.Is(k.told[0], ErrLinkLeftOut) || !errors.Is(k.told[1], ErrLinkLeftOut) {
			t.Errorf("told: %v", k.told)
		}
	})
}

// TestGetStaysWithin asserts that links in the directory that is written to lead
// nothing out of it.
func TestGetStaysWithin(t *testing.T) {
	t.Parallel()
	k, from, to, outside := newKit(t), t.TempDir(), t.TempDir(), t.TempDir()
	plant(t, from, "dir/file", "file")
	write(t, filepath.Join(outside, "victim"), []byte("untouched"))
	for name, target := range map[string]string{"dir": outside, "file": filepath.Join(outside, "victim")} {
		if err := os.Symlink(target, filepath.Join(to, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := k.GetTree(t.Context(), uriOf(t, from), to); err != nil {
		t.Fatal(err)
	}
	if len(k.told) != 1 {
		t.Errorf("told: %v", k.told)
	}
	if got := harvest(t, outside); !slices.Equal(got, []string{"victim"}) {
		t.Errorf("outside there is %q", got)
	}
	wantFile(t, filepath.Join(outside, "victim"), []byte("untouched"))
}

func TestIsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "..a": true, "a b": true, "ü": true, "...": true,
		"": false, ".": false, "..": false, "/": false, "/a": false, "a/b": false, "../a": false, "a/..": false, "a\x00": false,
	} {
		if isName(name) != want {
			t.Errorf("isName(%q) is %v", name, !want)
		}
	}
}

// TestTreeLost asserts that nothing more is begun when the executor is lost, and that
// it is told once.
func TestTreeLost(t *testing.T) {
	t.Parallel()
	bothTrees(t, func(t *testing.T, move moveFunc) {
		k, from, to := newKit(t), t.TempDir(), filepath.Join(t.TempDir(), "to")
		plant(t, from, "a", "b", "c", "d", "e", "f", "g", "h")
		for _, name := range []string{"a", "b", "c", "d"} {
			write(t, filepath.Join(from, name), noise(2*mib))
		}
		k.after(mib, k.cut)
		if err := move(k, t.Context(), from, to); !errors.Is(err, client.ErrDisconnected) {
			t.Errorf("the executor is lost: %v", err)
		}
		if len(k.told) > 0 {
			t.Errorf("told: %v", k.told)
		}
	})
}
