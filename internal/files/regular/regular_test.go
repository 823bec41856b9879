package regular

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReadAll(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		path := filepath.Join(t.TempDir(), "f")
		want := bytes.Repeat([]byte{'x'}, size)
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.ReadAll(size); err != nil || !bytes.Equal(got, want) {
			t.Errorf("of %d bytes, %d are read: %v", size, len(got), err)
		}
		if size > 0 {
			if got, err := f.ReadAll(size - 1); err != ErrTooLarge || got != nil {
				t.Errorf("of %d bytes, %d are read, one more than the limit: %v", size, len(got), err)
			}
		}
		f.Close()
	}
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := OpenListed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 4)
	if n, err := f.ReadAt(buf, 3); err != nil || string(buf[:n]) != "3456" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if n, err := f.ReadAt(buf, 10); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	if n, err := f.ReadAt(buf, 1<<40); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
}

func TestNotRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(dir); err != ErrNotRegular {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenListed(dir); err != ErrNotRegular {
		t.Errorf("a directory that was a file: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
