package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// isAbout tells whether an error is about one path, so that others are not
// concerned.
func isAbout(err error) bool {
	_, interrupted := errors.AsType[*interruptError](err)
	if interrupted || isLost(err) || errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	_, typed := errors.AsType[*pathError](err)
	return path || link || typed
}

// isLost tells whether an error means that there is no executor any more.
func isLost(err error) bool {
	return errors.Is(err, client.ErrDisconnected) || errors.Is(err, client.ErrSessionLost)
}

// explain is the function of that name, for this host.
func (h *host) explain(err error) error { return explain(h.info, err) }

// explain says what has gone wrong in the user's words: with paths as the host spells
// them, and with what to do where that is known.
func explain(info *protocol.EnvironmentInfo, err error) error {
	if _, ok := errors.AsType[statusError](err); ok {
		return err
	}
	if coded, ok := errors.AsType[*exitError](err); ok {
		return &exitError{coded.status, explain(info, coded.err)}
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return statusError(exitSignal + int(syscall.SIGPIPE))
	case errors.Is(err, client.ErrSessionLost):
		// The rest of the error names the session, which is a secret.
		return fmt.Errorf("the executor has been restarted, or has given the session up because the connection was lost for too long: %w",
			client.ErrSessionLost)
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s to %s: %w", named(info, link.Old), named(info, link.New), reason(link.Err))
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", named(info, path.Path), reason(path.Err))
	}
	return err
}

// named shows the path of an error, which may be one of ours.
func named(info *protocol.EnvironmentInfo, path string) string {
	if uri, err := protocol.ParsePathURI(path); err == nil {
		path = nativeText(info, uri)
	}
	return printable(path)
}

// plainError is the reason of an error without what only programs want to know.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

func reason(err error) error {
	text := err.Error()
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		text, _, _ = strings.Cut(refused.Message, " (os error ")
	}
	if errors.Is(err, client.ErrOutcomeUnknown) {
		text = client.ErrOutcomeUnknown.Error() + ": look before it is done again"
	}
	return &plainError{printableLines(text), err}
}

// unsupported is the error about what an executor can't do.
func unsupported(what, feature, instead string) error {
	return fmt.Errorf("%s: this executor can't do that: it lacks the feature %s, or has it switched off; %s: %w",
		what, feature, instead, errors.ErrUnsupported)
}
