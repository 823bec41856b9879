//go:build unix

package search

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDir opens a directory.
func openDir(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | unix.O_DIRECTORY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return os.OpenFile(path, flags, 0)
}
