// Package fault says on the wire why the operating system refuses something about
// files. Clients know the codes, and some know the texts: those of the C library
// musl, without the path.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/airlock-exec/airlock/protocol"
)

// Wire returns an error as it travels; one that is a [*protocol.Error] is returned
// as it is.
func Wire(err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	code := protocol.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = protocol.CodeNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EINVAL):
		code = protocol.CodeInvalidRequest
	}
	return protocol.Errorf(code, "%s", Text(err))
}

// Text says what is wrong in the words that clients know.
func Text(err error) string {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err.Error()
	}
	text, known := texts[number]
	if !known {
		text = number.Error()
	}
	return fmt.Sprintf("%s (os error %d)", text, int(number))
}

// Native returns the path on this system.
func Native(uri protocol.PathURI) (string, error) {
	path, err := uri.Native()
	if err != nil {
		return "", protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)
	}
	return path, nil
}
