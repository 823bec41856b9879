package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
)

// runner runs one command and passes on what goes in and out.
type runner struct {
	command *runCommand
	connect connectFunc
	sink    sink
	notice  *connectionNotice
	signals <-chan os.Signal
	release func() // gives the signals their usual effect again

	executor atomic.Pointer[client.Executor]
	process  atomic.Pointer[client.Process]
	started  chan struct{}       // closed when the executor has answered the start
	exited   atomic.Pointer[int] // the command's exit code
	end      ending              // of interest once the command has closed

	terminal terminal
	resized  chan struct{} // the size of the terminal is to be looked at
	redraw   atomic.Bool   // and is to be told even if it has not changed
	gaveUp   chan struct{} // the user does not want to wait for a connection

	interrupted bool        // the first interrupt has gone to the command
	hint        *time.Timer // says what a second one does; nil before the first
	halted      atomic.Bool // the command has been stopped
}

func newRunner(c *runCommand) *runner {
	r := &runner{
		command: c, started: make(chan struct{}), release: func() {},
		resized: make(chan struct{}, 1), gaveUp: make(chan struct{}, 1),
	}
	r.sink = newSink(c, &r.terminal)
	r.notice = &connectionNotice{stderr: &r.terminal}
	return r
}

// outcome is an exit status, and what there is to say about it.
type outcome struct {
	status int
	err    error
}

// run returns the exit status, and an error if there is something to say.
func (r *runner) run() (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer r.close()
	defer r.release() // should anything hang from here on, signals help
	defer r.terminal.restore()
	defer r.stopHint()

	done := make(chan outcome, 1)
	go r.guarded(func() {
		status, err := r.follow(ctx)
		done <- outcome{status, err}
	})
	for {
		select {
		case o := <-done:
			return o.status, o.err
		case <-r.gaveUp:
			return r.terminate(os.Interrupt, done), nil
		case sig := <-r.signals:
			if !r.react(sig) {
				return r.terminate(sig, done), nil
			}
		}
	}
}

// guarded is for goroutines: if f panics, which ends the program, the terminal is
// put back before.
func (r *runner) guarded(f func()) {
	panics := true
	defer func() {
		if panics {
			r.terminal.restore()
		}
	}()
	f()
	panics = false
}

func (r *runner) close() {
	if executor := r.executor.Load(); executor != nil {
		_ = (*executor).Close()
	}
}

// follow runs the command from start to end.
func (r *runner) follow(ctx context.Context) (int, error) {
	executor, err := r.connect(ctx)
	if err != nil {
		return exitRunFailed, err
	}
	r.executor.Store(&executor)
	params, err := r.command.start(executor.Info(), r.terminal.size())
	if err != nil {
		return exitRunFailed, err
	}
	process, err := executor.Start(ctx, params)
	r.process.Store(process)
	close(r.started)
	if err != nil {
		return r.command.startFailure(params, err)
	}
	if err := r.terminal.take(); err != nil {
		r.kill()
		return exitRunFailed, err
	}
	if params.TTY || params.PipeStdin {
		// A read of standard input can't be ended, so nobody waits for this.
		go r.guarded(func() { _ = forwardInput(ctx, process, r.input(), params.TTY, &r.terminal) })
	}
	if params.Airlock != nil && params.Airlock.TerminalSize != nil {
		go r.guarded(func() { r.keepSize(ctx, process, *params.Airlock.TerminalSize) })
	}
	if err := r.sink.started(&startedInfo{process.ID(), executor.SessionID(), process.LimitMechanisms(), process.SandboxTier()}); err != nil {
		return r.unwritten(ctx, err)
	}
	for {
		event, err := process.Next(ctx)
		if err != nil {
			return exitRunFailed, lost(err)
		}
		r.end.note(&event)
		if event.Kind == client.Exited {
			r.exited.Store(&event.ExitCode)
		}
		if err := r.write(ctx, event); err != nil {
			return r.unwritten(ctx, err)
		}
		if event.Kind == client.Closed {
			if r.end.byItself() {
				r.terminal.keep()
			}
			return r.end.status(r.command)
		}
	}
}

// write tells of an event.
func (r *runner) write(ctx context.Context, event client.Event) error {
	if event.Kind != client.Output || r.command.JSON {
		return r.sink.event(event)
	}
	return r.terminal.show(ctx, event.Data, func() error { return r.sink.event(event) })
}

// input returns what the command reads.
func (r *runner) input() io.Reader {
	switch {
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return os.Stdin
	case r.command.TTY:
		return newKeyReader(os.Stdin, r.typed)
	default:
		return lineReader{os.Stdin}
	}
}

// unwritten ends the command because its output can't be written.
func (r *runner) unwritten(ctx context.Context, err error) (int, error) {
	switch {
	case errors.Is(err, syscall.EPIPE):
		r.kill()
		return exitSignal + int(syscall.SIGPIPE), nil
	case errors.Is(err, syscall.EIO) && r.terminal.screen != nil:
		r.terminateTree(ctx, syscall.SIGHUP)
		return exitSignal + int(syscall.SIGHUP), nil
	}
	r.kill()
	return exitRunFailed, err
}

// lost says what it means that a command can't be followed any further.
func lost(err error) error {
	switch {
	case errors.Is(err, transport.ErrTakenOver):
		return errors.New("another client has taken the command over, and follows it from here on")
	case errors.Is(err, transport.ErrEnded):
		return errors.New("whoever runs the executor has ended the session, and the command with it")
	case errors.Is(err, client.ErrSessionLost):
		// The rest of the error names the session, which is a secret.
		return fmt.Errorf("the command is gone: the executor has been restarted, "+
			"or has given the session up because the connection was lost for too long: %w", client.ErrSessionLost)
	case errors.Is(err, client.ErrDisconnected):
		return fmt.Errorf("the command is lost, and ends with its session if it still runs: %w", err)
	}
	return fmt.Errorf("following the command: %w", err)
}
