package sandbox

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

// A mount point that another sandbox has made stands for nothing: else whoever finds
// it does not hold it, and what it covers is uncovered when the other one ends.
func TestMarksAreMissing(t *testing.T) {
	t.Parallel()
	name := t.TempDir() + "/mark"
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC, unix.S_ISVTX|0o400)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if err := unix.Mkdir(name+".d", unix.S_ISVTX|0o500); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{name, name + ".d", name + ".d/x"} {
		if _, err := OS().Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
