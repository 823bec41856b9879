package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNew renames, unless there is something at the destination.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// File systems of the network can't do that. What is put there between the look
	// and the renaming would be replaced.
	switch _, statErr := (*dir)(nil).status(to, false); {
	case statErr == nil:
		return unix.EEXIST
	case !errors.Is(statErr, unix.ENOENT):
		return statErr
	}
	return renameOver(from, to)
}
