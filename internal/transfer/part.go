package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// partName returns the name of the part of a file whose name will be another one.
// Another source, or the same one when it has been changed, has another part. The
// name is short enough for any directory.
func partName(name, source string, size, modifiedNs int64) string {
	const kept = 100 // of the name, for people
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", name, source, size, modifiedNs))
	return "." + name[:min(len(name), kept)] + ".airlock-" + hex.EncodeToString(sum[:6])
}

// about lets an error about a part be about the file that it is of.
func about(err error, path string) error {
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: wrong.Op, Path: path, Err: wrong.Err}
	}
	if wrong, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: wrong.Op, Path: path, Err: wrong.Err}
	}
	return err
}

// countedWriter tells of what is written.
type countedWriter struct {
	io.Writer
	moved func(int)
}

func (c *countedWriter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.moved(n)
	return n, err
}
