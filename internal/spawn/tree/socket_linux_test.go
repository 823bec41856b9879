package tree

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSweepSocket: a socket is removed when nobody listens at it any more, and
// nothing else is, ever.
func TestSweepSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	record := SocketRecord(path)
	if err := Sweep(record); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := Sweep(record); err == nil {
		t.Error("swept while somebody listens")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	listener.Close()

	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(record); err == nil {
		t.Error("swept while somebody makes a socket")
	}
	folder.Close()

	if err := Sweep(record); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(record); err == nil {
		t.Error("a file was taken for a socket")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
