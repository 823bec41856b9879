//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadDir: what has taken the place of a directory is an error: a pipe is not waited
// for, and a link not followed.
func TestReadDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2*entriesAtOnce + 1 {
		if err := os.Symlink("x", filepath.Join(dir, "dir", "l"+string(rune('A'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "link", "file", "missing"} {
		if err := OS().ReadDir(filepath.Join(dir, name), func(fs.DirEntry) error { return nil }); err == nil {
			t.Errorf("%s has been read", name)
		}
		if _, err := OS().ReadFile(filepath.Join(dir, name), 1); (err == nil) != (name == "file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var names []string
	err := OS().ReadDir(filepath.Join(dir, "dir"), func(e fs.DirEntry) error {
		names = append(names, e.Name())
		return nil
	})
	slices.Sort(names)
	if names = slices.Compact(names); err != nil || len(names) != 2*entriesAtOnce+1 {
		t.Errorf("%d entries, %v", len(names), err)
	}
	calls := 0
	if err := OS().ReadDir(dir, func(fs.DirEntry) error { calls++; return fs.ErrClosed }); err != fs.ErrClosed || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
