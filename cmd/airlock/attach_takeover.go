package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// takeOver follows a process as its client.
func takeOver(ctx context.Context, f *found, after uint64) (int, error) {
	var own terminal
	if err := own.open(os.Stdin, os.Stdout); err != nil {
		return exitRunFailed, err
	}
	executor, err := client.Connect(ctx, client.ControlSocket(f.executor.socket), client.Options{
		Name: "airlock-attach", ResumeSessionID: f.session.SessionID, Takeover: true,
		ReconnectTimeout: -1, // a socket on this machine does not break
	})
	if err != nil {
		return exitRunFailed, takeoverRefused(f, err)
	}
	defer executor.Close()
	keys := f.process.TTY && own.keyboard != nil
	how := "Ctrl-C detaches"
	if keys {
		how = "Ctrl-P Ctrl-Q detaches"
	}
	from := ""
	if f.session.Attached {
		from = " from " + printable(f.session.ClientName)
	}
	fmt.Fprintf(&own, "airlock: session %s has been taken%s; %s\n", short(f.session.SessionID), from, how)

	process := executor.Process(f.process.ProcessID)
	done := make(chan outcome, 2)
	signals := make(chan os.Signal, 4)
	if keys {
		if err := own.take(); err != nil {
			return exitRunFailed, err
		}
		defer own.restore()
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer followSize(ctx, &own, process)()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		status, err := passOn(ctx, process.Events(ctx, after), &own)
		done <- outcome{status, err}
	}()
	if f.process.TTY || !isNull(os.Stdin) {
		// A read of standard input can't be ended, so nobody waits for this.
		go func() {
			if keys {
				_ = forwardInput(ctx, process, &detachReader{in: os.Stdin, detached: func() { done <- outcome{0, errDetached} }}, true, &own)
				return
			}
			if err := forwardInput(ctx, process, os.Stdin, f.process.TTY, &own); errors.Is(err, client.ErrStdinClosed) {
				fmt.Fprintln(&own, "airlock: warning: nothing that is typed reaches the process: it has no standard input")
			}
		}()
	}
	select {
	case o := <-done:
		return takeoverEnded(f, &own, o)
	case sig := <-signals:
		return exitSignal + int(sig.(syscall.Signal)), nil
	}
}

// takeoverRefused says why a session can't be had.
func takeoverRefused(f *found, err error) error {
	if errors.Is(err, client.ErrSessionLost) { // whose text has the whole id, a secret
		return fmt.Errorf("taking session %s over: it has ended", short(f.session.SessionID))
	}
	return fmt.Errorf("taking session %s over: %w", f, plain(f.executor.socket, err))
}

// takeoverEnded says how it has ended.
func takeoverEnded(f *found, own *terminal, o outcome) (int, error) {
	own.restore()
	if o.err != nil {
		own.freshLine()
	}
	switch {
	case errors.Is(o.err, errDetached):
		fmt.Fprintf(os.Stderr, "airlock: detached: session %s waits for its client\n", short(f.session.SessionID))
		return 0, nil
	case o.err != nil:
		return o.status, f.lost(o.err)
	}
	return o.status, nil
}

// followSize makes the size of a process's terminal that of ours, and keeps it so
// until the returned function is called.
func followSize(ctx context.Context, own *terminal, process *client.Process) (stop func()) {
	changes := make(chan os.Signal, 1)
	notifySize(changes)
	ticks, stopTicks := sizeTicks()
	ctx, cancel := context.WithCancel(ctx)
	var last protocol.TerminalSize
	adjust := func() {
		size := own.size()
		if size == nil || *size == last {
			return
		}
		if last.Cols == 0 { // a program draws anew when the size changes
			_ = process.Resize(ctx, size.Rows, otherWidth(size.Cols))
		}
		last = *size
		_ = process.Resize(ctx, size.Rows, size.Cols) // an executor that can't is no reason to end
	}
	adjust()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-changes:
			case <-ticks:
			case <-ctx.Done():
				return
			}
			adjust()
		}
	}()
	return func() {
		cancel()
		signal.Stop(changes)
		stopTicks()
		<-finished
	}
}
