//go:build unix

package transfer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// partOf returns the part in a directory, or nothing.
func partOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".airlock-") {
			return filepath.Join(dir, e.Name())
		}
	}
	return ""
}

// TestSecretParts asserts that a part of a file that others may not read can't be
// read by them either, while there is anything in it.
func TestSecretParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 3 * mib} {
		k, dir := newKit(t), t.TempDir()
		from := write(t, filepath.Join(t.TempDir(), "from"), noise(size)) // mode 0600
		seen := 0
		k.Moved = func(int64) {
			if part := partOf(t, dir); part != "" {
				seen++
				if info, err := os.Stat(part); err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%d bytes: the part has mode %v (%v)", size, info.Mode(), err)
				}
			}
		}
		if err := k.Put(t.Context(), from, uriOf(t, filepath.Join(dir, "to"))); err != nil {
			t.Fatal(err)
		}
		if seen == 0 {
			t.Errorf("%d bytes: no part has been seen", size)
		}
	}
}

// TestForeignParts asserts that what stands where a part belongs, and is no file, is
// neither followed nor waited for.
func TestForeignParts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		for name, plant := range map[string]func(part, victim string) error{
			"link":     func(part, victim string) error { return os.Symlink(victim, part) },
			"relative": func(part, victim string) error { return os.Symlink(filepath.Base(victim), part) },
			"dangling": func(part, _ string) error { return os.Symlink("nowhere", part) },
			"pipe":     func(part, _ string) error { return syscall.Mkfifo(part, 0o600) },
		} {
			t.Run(name, func(t *testing.T) {
				source, dir := t.TempDir(), t.TempDir()
				data := noise(10 * mib)
				from, to := write(t, filepath.Join(source, "from"), data), filepath.Join(dir, "to")
				// Where the part belongs is learnt from a transfer that is kept.
				k := newKit(t)
				k.Keep = true
				ctx, stop := context.WithCancel(t.Context())
				k.after(1, stop)
				if err := move(k, ctx, from, to); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				part := partOf(t, dir)
				if part == "" {
					t.Fatal("there is no part")
				}
				victim := write(t, filepath.Join(dir, "victim"), []byte("untouched"))
				if err := os.Remove(part); err != nil {
					t.Fatal(err)
				}
				if err := plant(part, victim); err != nil {
					t.Fatal(err)
				}
				if err := move(newKit(t), t.Context(), from, to); err != nil {
					t.Fatal(err)
				}
				wantFile(t, to, data)
				if info, err := os.Lstat(to); err != nil || !info.Mode().IsRegular() {
					t.Errorf("what has come is %v, %v", info.Mode(), err)
				}
				if text, err := os.ReadFile(victim); string(text) != "untouched" {
					t.Errorf("what the link leads to holds %d bytes, %v", len(text), err)
				}
				if _, err := os.Stat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("what the link leads to has been made: %v", err)
				}
			})
		}
	})
}

// TestSourceShrinks asserts that a file that becomes shorter while it is copied is
// not taken for whole.
func TestSourceShrinks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		k, dir := newKit(t), t.TempDir()
		from, to := write(t, filepath.Join(t.TempDir(), "from"), noise(64*mib)), filepath.Join(dir, "to")
		k.after(1, func() {
			if err := os.Truncate(from, 40*mib); err != nil {
				t.Error(err)
			}
		})
		if err := move(k, t.Context(), from, to); !errors.Is(err, errChanged) {
			t.Errorf("got %v, want %v", err, errChanged)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a file: %v", err)
		}
		wantParts(t, dir, 0)
	})
}
