package files

import (
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// chmod sets the permissions; a symbolic link is refused unless follow is set.
func (d *dir) chmod(name string, mode uint32, follow bool) error {
	if follow {
		return unix.Fchmodat(d.fd(), name, mode, 0)
	}
	// This works for what can't be opened to be read, and with every kernel.
	file, err := d.open(name, unix.O_PATH|noFollow, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), mode)
}
