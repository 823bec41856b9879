package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/airlock-exec/airlock/protocol"
)

// terminal is the user's terminal, of which a command with a terminal of its own
// has the use. The zero value is none.
//
// It must not be touched while we are in the background: the system would stop
// us in the midst of something, and it is the shell's then.
type terminal struct {
	keyboard, screen *os.File // nil: none
	// output holds a token while something of the command's is being written to
	// the screen, or may not be: then it is held back.
	output chan struct{}

	mu    sync.Mutex
	holds bool          // guarded by mu; the token says that nothing may
	mode  terminalMode  // guarded by mu
	saved *term.State   // guarded by mu; what give puts back
	modes terminalModes // guarded by mu; what the command has made of the screen
	fresh string        // guarded by mu; what begins a line, once it is restored
}

// terminalMode is who has the use of the terminal.
type terminalMode int

const (
	untouched terminalMode = iota // the command has not had it yet
	taken                         // the command: every key goes to it
	given                         // the user, for as long as we are stopped
	restored                      // the user, for good
)

// open looks for the terminal. It waits until we are in the foreground, stopped as
// the system does it.
func (t *terminal) open(in, out *os.File) error {
	t.output = make(chan struct{}, 1)
	if term.IsTerminal(int(out.Fd())) {
		t.screen = out
	}
	if !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	t.keyboard = in
	if t.screen == nil {
		t.screen = in
	}
	if err := awaitForeground(t.keyboard); err != nil {
		return fmt.Errorf("waiting for the terminal, which others are using: %w", err)
	}
	return nil
}

// size returns the size, or nil if it is not known.
func (t *terminal) size() *protocol.TerminalSize {
	if t.screen == nil {
		return nil
	}
	cols, rows, err := term.GetSize(int(t.screen.Fd()))
	if err != nil || rows < 1 || cols < 1 || rows > math.MaxUint16 || cols > math.MaxUint16 {
		return nil
	}
	return &protocol.TerminalSize{Rows: uint16(rows), Cols: uint16(cols)}
}

// take has every key go to the command. In the background it stops us instead,
// and takeAgain is to be called when we go on.
func (t *terminal) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keyboard == nil || t.mode == restored {
		return nil
	}
	if !inForeground(t.keyboard) {
		if t.mode != taken { // else we did not get to put it back
			t.mode = given
		}
		select {
		case t.output <- struct{}{}:
			t.holds = true
		default: // it is held, or we will be stopped in the midst of something
		}
		stopGroup()
		return nil
	}
	state, err := term.MakeRaw(int(t.keyboard.Fd()))
	if err != nil {
		return fmt.Errorf("setting up the terminal: %w", err)
	}
	if t.mode != taken {
		t.saved = state
		t.control(t.modes.redo())
	}
	t.mode = taken
	if t.holds {
		t.holds = false
		<-t.output
	}
	return nil
}

// inBackground tells whether the terminal is there for others.
func (t *terminal) inBackground() bool { return t.keyboard != nil && !inForeground(t.keyboard) }

// takeAgain does what take does, if that has been called.
func (t *terminal) takeAgain() error {
	t.mu.Lock()
	mode := t.mode
	t.mu.Unlock()
	if mode == untouched {
		return nil
	}
	return t.take()
}

// give puts the terminal back for as long as we are stopped.
func (t *terminal) give() { t.putBack(given) }

// restore puts the terminal back for good: take has no effect any more.
func (t *terminal) restore() { t.putBack(restored) }

func (t *terminal) putBack(mode terminalMode) {
	t.holdBack()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mode == taken && inForeground(t.keyboard) {
		t.fresh = t.modes.freshLine()
		t.control(t.modes.undo())
		_ = term.Restore(int(t.keyboard.Fd()), t.saved)
	}
	if t.mode != untouched || mode == restored {
		t.mode = mode
	}
}

// holdBack lets no more of the command's output to the screen: it must not come
// behind what undoes it. A write may hang, so that this gives up in time.
func (t *terminal) holdBack() {
	t.mu.Lock()
	holds := t.holds
	t.mu.Unlock()
	if holds || t.keyboard == nil {
		return
	}
	select {
	case t.output <- struct{}{}:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.holds = true
	case <-time.After(tailTimeout):
	}
}

// control writes control sequences to the screen, if there are any. It does not
// wait for ever: whoever shows the screen may hang. The caller holds the lock.
func (t *terminal) control(sequences string) {
	if sequences == "" {
		return
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = t.screen.WriteString(sequences)
	}()
	select {
	case <-written:
	case <-time.After(tailTimeout):
	}
}

// show writes the command's output to the screen by write, once the command has
// the screen.
func (t *terminal) show(ctx context.Context, output []byte, write func() error) error {
	if t.keyboard == nil || t.screen != os.Stdout {
		return write()
	}
	select {
	case t.output <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.output }()
	t.showing(output)
	return write()
}

// showing takes note of output that goes to the screen.
func (t *terminal) showing(output []byte) {
	if t.keyboard == nil || t.screen != os.Stdout {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.modes.note(output)
}

// freshLine has what is written next to standard error begin a line of its own below
// what the command has shown, if the terminal has been restored.
func (t *terminal) freshLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mode == restored && term.IsTerminal(int(os.Stderr.Fd())) {
		t.control(t.fresh)
	}
	t.fresh = ""
}

// keep has the screen stay as the command has left it.
func (t *terminal) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.modes.forget()
}

// Write writes to standard error what the user should know. Lines end so that
// the next one begins at the left, whatever the terminal's mode.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	raw := t.mode == taken
	t.mu.Unlock()
	text := p
	if raw && term.IsTerminal(int(os.Stderr.Fd())) {
		text = bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
	}
	if _, err := os.Stderr.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}
