//go:build !unix

package watch

import (
	"os"
	"syscall"
)

// openDir opens a directory, or what a symbolic link leads to if it is to be
// followed.
func openDir(path string, follow bool) (*os.File, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	info, err := look(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return os.Open(path)
}
