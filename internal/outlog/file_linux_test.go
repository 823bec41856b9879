package outlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFile: the file has no name, is its owner's alone, and holds what is put
// together from parts.
func TestFile(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(string) (file, error){"temporary": openTemp, "removed": openRemoved} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("the folder holds %v (%v)", entries, err)
			}
			info, err := f.(*tempFile).Stat()
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("mode %v (%v)", info.Mode(), err)
			}
			parts := [][]byte{[]byte("one"), []byte("two"), []byte("three")}
			if err := f.writeParts(parts, 10); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 11)
			if _, err := f.ReadAt(got, 10); err != nil || string(got) != "onetwothree" {
				t.Errorf("read %q (%v)", got, err)
			}
			if string(parts[0])+string(parts[2]) != "onethree" {
				t.Errorf("the caller's parts became %q", parts)
			}
		})
	}
}

// TestNoFolder: what is wrong with the folder is told.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(string) (file, error){"temporary": openTemp, "removed": openRemoved} {
		f, err := open(filepath.Join(t.TempDir(), "missing"))
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestFileSizeLimit: the system's own bound on the size of files is met in the
// middle of a block, and makes the file a ring of that size.
func TestFileSizeLimit(t *testing.T) { //nolint:paralleltest // the bound is the whole program's
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	const size = 7*pageBytes + 100
	limit := old
	limit.Cur = size
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Skipf("can't set a limit: %v", err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	}()
	l := New(Config{MemoryBytes: faultMemory, Spill: NewSpill(t.TempDir(), 1<<20, 0, noFailure(t))})
	defer l.Close()
	fill(l, 1000, faultChunk)
	wantBlocks(t, l, 7)
	info, err := l.store.file.(*tempFile).Stat()
	if err != nil || info.Size() != 7*pageBytes {
		t.Errorf("the file has %d bytes (%v), want %d", info.Size(), err, 7*pageBytes)
	}
}
