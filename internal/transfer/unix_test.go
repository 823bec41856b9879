//go:build unix

package transfer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// TestOddNames asserts that names are moved byte by byte, whatever they are.
func TestOddNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("names must be UTF-8 here, perhaps")
	}
	bothTrees(t, func(t *testing.T, move moveFunc) {
		k, from, to := newKit(t), t.TempDir(), filepath.Join(t.TempDir(), "to")
		names := []string{"b\xff", "b\xfe", "b\xff\xff", "new\nline", "\x1b[31m", "back\\slash", "c:", "tail\t", "\ufffd"}
		for _, name := range names {
			write(t, filepath.Join(from, name), []byte(name))
		}
		if err := move(k, t.Context(), from, to); err != nil || k.told != nil {
			t.Fatal(err, k.told)
		}
		slices.Sort(names)
		if got := harvest(t, to); !slices.Equal(got, names) {
			t.Errorf("there is %q, want %q", got, names)
		}
		for _, name := range names {
			if text, err := os.ReadFile(filepath.Join(to, name)); string(text) != name {
				t.Errorf("%q holds %q, %v", name, text, err)
			}
		}
	})
}

func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	bothTrees(t, func(t *testing.T, move moveFunc) {
		k, from, to := newKit(t), t.TempDir(), filepath.Join(t.TempDir(), "to")
		plant(t, from, "a")
		if err := syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := move(k, t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		if len(k.told) != 1 || !errors.Is(k.told[0], ErrLeftOut) {
			t.Errorf("told: %v", k.told)
		}
	})
}

// TestDevice asserts that a device is written to, and stays one.
func TestDevice(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	from := write(t, filepath.Join(t.TempDir(), "from"), noise(mib))
	if err := k.Get(t.Context(), uriOf(t, from), os.DevNull); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is %v, %v", os.DevNull, info, err)
	}
}

// TestSystemFiles asserts that files whose size is not told come whole.
func TestSystemFiles(t *testing.T) {
	t.Parallel()
	const path = "/proc/self/status"
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	k, to := newKit(t), filepath.Join(t.TempDir(), "to")
	if err := k.Get(t.Context(), uriOf(t, path), to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
