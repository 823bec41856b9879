package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
)

// inputBytes is how much of standard input is read at a time: what a pipe holds.
const inputBytes = 64 << 10

// endOfInput is what a terminal takes for the end of input, at the start of a
// line; elsewhere it only ends the line's waiting.
const endOfInput = 0x04

// forwardInput passes standard input on until it or the command ends. Writes
// that fail mean the latter, and are nobody's loss. What the user should know is
// written to stderr.
func forwardInput(ctx context.Context, process *client.Process, in io.Reader, tty bool, stderr io.Writer) {
	buffer := make([]byte, inputBytes)
	last := byte('\n')
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			last = buffer[n-1]
			if process.Write(ctx, buffer[:n]) != nil {
				return
			}
		}
		if err == nil {
			continue
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
		_ = process.Write(ctx, end)
		return
	}
	if err := process.CloseStdin(ctx); errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(stderr, "airlock: warning: this executor can't close the command's standard input: "+
			"a command that reads to the end will wait for ever; use </dev/null if it is to read nothing")
	}
}

// terminal is the user's terminal. It is put back as it was exactly once.
type terminal struct {
	mu       sync.Mutex
	file     *os.File
	state    *term.State // nil: as it was
	restored bool
}

// raw hands every key to the command, if the file is a terminal.
func (t *terminal) raw(file *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.restored || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	state, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return fmt.Errorf("setting up the terminal: %w", err)
	}
	t.file, t.state = file, state
	return nil
}

// restore puts the terminal back; raw has no effect from then on.
func (t *terminal) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restored = true
	if t.state != nil {
		_ = term.Restore(int(t.file.Fd()), t.state)
		t.state = nil
	}
}
