package files

import "golang.org/x/sys/unix"

// renameNew renames, unless there is something at the destination.
func renameNew(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
