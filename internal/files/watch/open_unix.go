//go:build unix

package watch

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory, or what a symbolic link leads to if it is to be
// followed.
func openDir(path string, follow bool) (*os.File, error) {
	flags := unix.O_DIRECTORY | unix.O_NONBLOCK
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return os.OpenFile(path, os.O_RDONLY|flags, 0)
}
