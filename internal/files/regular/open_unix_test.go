//go:build unix

package regular

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNothingBlocks has what one would wait for when it is opened.
func TestNothingBlocks(t *testing.T) {
	t.Parallel()
	fifo := t.TempDir() + "/fifo"
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", "/dev/tty"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if _, err := Open(path); err != ErrNotRegular {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := open(fifo, true); err != ErrNotRegular {
		t.Errorf("a FIFO that was a file when it was looked at: %v", err)
	}
	if _, err := OpenListed(fifo); err != ErrNotRegular {
		t.Errorf("a FIFO that was a file when it was listed: %v", err)
	}
}

// TestLinks are followed where somebody names them, and nowhere else.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir + "/link")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := OpenListed(dir + "/link"); !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.EMLINK) {
		t.Errorf("a link in the place of a file: %v", err)
	}
}

// TestKernelLog has a regular file whose readers wait for the kernel.
func TestKernelLog(t *testing.T) {
	t.Parallel()
	f, err := Open("/proc/kmsg")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if data, err := f.ReadAll(64 << 20); err == nil {
		t.Errorf("the kernel's log has an end, after %d bytes", len(data))
	}
}
