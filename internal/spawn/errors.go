package spawn

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	// Unenforceable means that a limit can't be enforced here.
	Unenforceable
)

// Error is what [Group.Start] returns. Its text is that of Err.
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
	errNoConfining   = errors.New("commands can't be confined on this system")
	errProgram       = errors.New("a program that is an open file takes a confinement")
	errSocket        = errors.New("a socket takes the place of a terminal or a standard input, so there can't be one of these")
)

// check refuses what no system could run, before anything has been opened.
func check(cmd *Command) error {
	if err := fault(cmd); err != nil {
		return &Error{Kind: Failed, Err: err}
	}
	return nil
}

func fault(cmd *Command) error {
	hasNUL := func(s string) bool { return strings.IndexByte(s, 0) >= 0 }
	switch {
	case cmd.Confinement != nil && !canConfine:
		return errNoConfining
	case cmd.Program != nil && cmd.Confinement == nil:
		return errProgram
	case cmd.Socket != nil && (cmd.TTY != nil || cmd.Stdin):
		return errSocket
	case (len(cmd.Argv) == 0 || cmd.Argv[0] == "") && cmd.TTY != nil:
		return errNoProgramTTY
	case len(cmd.Argv) == 0 || cmd.Argv[0] == "":
		return errNoProgramPipe
	case slices.ContainsFunc(cmd.Argv, hasNUL), cmd.Arg0 != nil && hasNUL(*cmd.Arg0), hasNUL(cmd.Dir):
		return errNULInArgs
	case slices.ContainsFunc(cmd.Env, hasNUL):
		return errNULInEnv
	}
	return nil
}

// startError gives a failure its kind, unless it has one.
func startError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Kind: Failed, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = PermissionDenied
	}
	return e
}

// streamsError is for standard streams that can't be made. Its kind does not
// depend on the reason: whatever is missing, it is not the program.
func streamsError(err error) *Error {
	return &Error{Kind: Failed, Err: fmt.Errorf("opening standard streams: %w", asOSError(err))}
}

// unenforceable is for limits.
func unenforceable(format string, args ...any) error {
	return &Error{Kind: Unenforceable, Err: fmt.Errorf(format, args...)}
}

// osError gives a system error the wording that clients know:
// "No such file or directory (os error 2)". Other errors stay as they are.
type osError struct {
	errno syscall.Errno
}

func asOSError(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err // it has been said what of
	}
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
