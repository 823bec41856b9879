//go:build unix

package outlog

import (
	"errors"
	"os"
	"syscall"
)

// openRemoved makes a file and takes its name away.
func openRemoved(dir string) (file, error) {
	f, err := os.CreateTemp(dir, "airlock-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tempFile{File: f}, nil
}

// fullErrors are those of a file that can't grow, but may still be written to.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
