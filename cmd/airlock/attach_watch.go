package main

import (
	"bytes"
	"context"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
)

// watch shows on our terminal what a process says on its own. It may make of it what
// it likes, and ask it something: that is undone, and what the terminal answers goes
// to nobody, least of all to the shell that comes after us.
func watch(ctx context.Context, events iter.Seq2[client.Event, error]) (int, error) {
	keyboard := os.Stdin
	if !term.IsTerminal(int(keyboard.Fd())) {
		keyboard = os.Stdout // the answers come there as well
	}
	var own terminal
	if err := own.open(keyboard, os.Stdout); err != nil {
		return exitRunFailed, err
	}
	if err := own.take(); err != nil {
		return exitRunFailed, err
	}
	defer own.restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome, 2)
	answered := make(chan struct{}, 1)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		status, err := passOn(ctx, events, &own)
		done <- outcome{status, err}
	}()
	// A read can't be ended, so nobody waits for this.
	go dropKeys(keyboard, answered, func() { done <- outcome{exitSignal + int(syscall.SIGINT), nil} })
	var o outcome
	select {
	case o = <-done:
	case sig := <-signals:
		o.status = exitSignal + int(sig.(syscall.Signal))
	}
	own.settle(answered)
	own.restore()
	if o.err != nil {
		own.freshLine()
	}
	return o.status, o.err
}

// What a terminal is asked, and answers: that it is fine. It answers in order, so
// that nothing comes behind it.
const (
	askTerminal    = "\x1b[5n"
	terminalAnswer = "\x1b[0n"
)

// answerTime is how long a terminal may take to answer.
const answerTime = 300 * time.Millisecond

// settle lets no more output to the screen, and waits for what the terminal may
// still answer to what has come.
func (t *terminal) settle(answered <-chan struct{}) {
	t.holdBack()
	t.mu.Lock()
	if t.mode != taken || !t.modes.sequences || t.inBackground() {
		t.mu.Unlock()
		return
	}
	select {
	case <-answered: // to the process, which has asked the same
	default:
	}
	t.control(askTerminal)
	t.mu.Unlock()
	select {
	case <-answered:
	case <-time.After(answerTime):
	}
}

// interruptKeys are Ctrl-C, and what it is where a program has asked for keys to be
// told from each other.
var interruptKeys = [][]byte{{interruptKey}, []byte("\x1b[99;5u"), []byte("\x1b[27;5;99~")}

// dropKeys reads keys, and what a terminal answers. It calls interrupted at the first
// Ctrl-C, and tells of each terminalAnswer.
func dropKeys(keyboard io.Reader, answered chan<- struct{}, interrupted func()) {
	var text []byte
	buffer := make([]byte, inputBytes)
	for {
		n, err := keyboard.Read(buffer)
		text = append(text, buffer[:n]...)
		if interrupted != nil && slices.ContainsFunc(interruptKeys, func(key []byte) bool { return bytes.Contains(text, key) }) {
			interrupted()
			interrupted = nil
		}
		if bytes.Contains(text, []byte(terminalAnswer)) {
			text = text[:0]
			select {
			case answered <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
		text = text[max(0, len(text)-len("\x1b[27;5;99~")+1):]
	}
}
