package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/airlock-exec/airlock/client"
)

const (
	// inputBytes is how much of standard input is read at a time: what a pipe
	// holds.
	inputBytes = 64 << 10
	// queuedKeys bounds how often a terminal is read ahead of the command.
	queuedKeys = 256
)

// Keys that mean something to a terminal.
const (
	interruptKey = 0x03 // Ctrl-C
	// endOfInput is taken for the end of input at the start of a line; elsewhere
	// it only ends the line's waiting.
	endOfInput = 0x04
)

// errHangup is the end of a terminal, not of what is typed.
var errHangup = errors.New("the terminal is gone")

// forwardInput passes standard input on until it or the command ends. Writes
// that fail mean the latter, and are nobody's loss; the error is returned. What the
// user should know is written to stderr.
func forwardInput(ctx context.Context, process *client.Process, in io.Reader, tty bool, stderr io.Writer) error {
	buffer := make([]byte, inputBytes)
	last := byte('\n')
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			last = buffer[n-1]
			if err := process.Write(ctx, buffer[:n]); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if errors.Is(err, errHangup) {
			return nil
		}
		if !errors.Is(err, io.EOF) {
			fmt.Fprintf(stderr, "airlock: reading standard input: %v\n", err)
		}
		break
	}
	if tty {
		end := []byte{endOfInput}
		if last != '\n' {
			end = append(end, endOfInput)
		}
		return process.Write(ctx, end)
	}
	if err := process.CloseStdin(ctx); errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(stderr, "airlock: warning: this executor can't close the command's standard input: "+
			"a command that reads to the end will wait for ever; use </dev/null if it is to read nothing")
	}
	return nil
}

// lineReader reads lines from a terminal that belongs to the user. In the
// background it waits.
type lineReader struct{ terminal *os.File }

func (r lineReader) Read(p []byte) (int, error) {
	if err := awaitKeys(r.terminal); err != nil {
		return 0, err
	}
	return r.terminal.Read(p)
}

// keyReader reads keys from a terminal that the command has. They are read ahead,
// so that the user can give up while there is no connection to write them to.
type keyReader struct {
	keys  <-chan []byte
	err   error  // why there are no more; set before keys is closed
	first []byte // what is left of one
}

// newKeyReader calls typed with what comes before it is read.
func newKeyReader(terminal *os.File, typed func([]byte)) *keyReader {
	keys := make(chan []byte, queuedKeys)
	r := &keyReader{keys: keys}
	// A read can't be ended, so nobody waits for this.
	go func() {
		defer close(keys)
		buffer := make([]byte, inputBytes)
		for {
			n, err := lineReader{terminal}.Read(buffer)
			if n > 0 {
				typed(buffer[:n])
				keys <- bytes.Clone(buffer[:n])
			}
			if err != nil {
				// Without lines there is no end of what is typed, either.
				r.err = errHangup
				return
			}
		}
	}()
	return r
}

// Read returns what has been typed, and does not wait for more.
func (r *keyReader) Read(p []byte) (n int, err error) {
	if len(r.first) == 0 {
		first, ok := <-r.keys
		if !ok {
			return 0, r.err
		}
		r.first = first
	}
	for {
		copied := copy(p[n:], r.first)
		n, r.first = n+copied, r.first[copied:]
		if len(r.first) > 0 {
			return n, nil
		}
		select {
		case next, ok := <-r.keys:
			if !ok {
				return n, nil // the next Read tells
			}
			r.first = next
		default:
			return n, nil
		}
	}
}
