package transfer

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk asserts that a disk that is full ends a transfer, that nothing is left
// of it, and that the file that was to be replaced is as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, move moveFunc) {
		full := t.TempDir()
		if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("can't mount: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(full, syscall.MNT_DETACH) })
		from := write(t, filepath.Join(t.TempDir(), "from"), noise(8*mib))
		to := write(t, filepath.Join(full, "to"), []byte("as it was"))
		if err := move(newKit(t), t.Context(), from, to); err == nil {
			t.Error("there was room")
		}
		wantFile(t, to, []byte("as it was"))
		if left, err := os.ReadDir(full); len(left) != 1 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
