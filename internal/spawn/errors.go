package spawn

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// Kind tells why a process could not be started.
type Kind int

// Kinds.
const (
	// Failed is any reason that has no kind of its own.
	Failed Kind = iota
	// NotFound means that the program or the working directory is missing.
	NotFound
	// PermissionDenied means that one of them is there but may not be used.
	PermissionDenied
)

// Error is what [Spawner.Start] returns. Its text is that of Err.
type Error struct {
	Kind Kind
	Err  error
}

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Texts that clients know.
var (
	errNoProgramPipe = errors.New("missing program for pipe spawn")
	errNoProgramTTY  = errors.New("missing program for PTY spawn")
	errNULInArgs     = errors.New("nul byte found in provided data")
	errNULInEnv      = errors.New("data provided contains a nul byte")
)

// check refuses what no system could run, before anything has been opened.
func check(cmd *Command) error {
	var err error
	switch {
	case len(cmd.Argv) > 0 && cmd.Argv[0] != "":
	case cmd.TTY != nil:
		err = errNoProgramTTY
	default:
		err = errNoProgramPipe
	}
	for _, arg := range cmd.Argv {
		if err == nil && strings.IndexByte(arg, 0) >= 0 {
			err = errNULInArgs
		}
	}
	if err == nil && (strings.IndexByte(cmd.Dir, 0) >= 0 || cmd.Arg0 != nil && strings.IndexByte(*cmd.Arg0, 0) >= 0) {
		err = errNULInArgs
	}
	for _, entry := range cmd.Env {
		if err == nil && strings.IndexByte(entry, 0) >= 0 {
			err = errNULInEnv
		}
	}
	if err != nil {
		return &Error{Kind: Failed, Err: err}
	}
	return nil
}

// startError gives a failure its kind.
func startError(err error) *Error {
	e := &Error{Kind: Failed, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = PermissionDenied
	}
	return e
}

// osError gives a system error the wording that clients know:
// "No such file or directory (os error 2)". Other errors stay as they are.
type osError struct {
	errno syscall.Errno
}

func asOSError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return osError{errno}
	}
	return err
}

func (e osError) Error() string {
	text := e.errno.Error()
	return strings.ToUpper(text[:1]) + text[1:] + " (os error " + strconv.Itoa(int(e.errno)) + ")"
}

func (e osError) Unwrap() error { return e.errno }
