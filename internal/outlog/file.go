package outlog

import (
	"errors"
	"os"
	"slices"
)

// file is what a log needs of its temporary file.
type file interface {
	// writeParts writes parts, none of them empty, one after the other from an
	// offset on. It returns an error if it did not write them all.
	writeParts(parts [][]byte, at int64) error
	ReadAt(p []byte, at int64) (int, error)
	Truncate(size int64) error
	Close() error
}

// tempFile is a file without a name, or on Windows one whose name goes with it.
type tempFile struct {
	*os.File
	space space
}

// isFull reports whether an error is one of a file that can't grow, but may still
// be written to.
func isFull(err error) bool {
	return errors.Is(err, errTotal) ||
		slices.ContainsFunc(fullErrors, func(full error) bool { return errors.Is(err, full) })
}
