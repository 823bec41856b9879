package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// Bounds on what is waited for when the end has been asked for: an executor may
// hang, and so may whoever reads our output.
const (
	signalTimeout = time.Second
	tailTimeout   = 2 * time.Second
)

// runner runs one command and passes on what goes in and out.
type runner struct {
	command *runCommand
	connect func(context.Context) (client.Executor, error)
	sink    sink
	signals <-chan os.Signal
	release func() // gives the signals their usual effect again

	executor atomic.Pointer[client.Executor]
	process  atomic.Pointer[client.Process]
	started  chan struct{}       // closed when the executor has answered the start
	exited   atomic.Pointer[int] // the command's exit code
	gaps     bool                // some of the output is missing
	terminal terminal
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

	done := make(chan outcome, 1)
	go func() {
		status, err := r.follow(ctx)
		done <- outcome{status, err}
	}()
	interrupted := false
	for {
		select {
		case o := <-done:
			return o.status, o.err
		case sig := <-r.signals:
			if sig == os.Interrupt && !interrupted && r.interrupt() {
				interrupted = true
				continue
			}
			return r.terminate(sig, done), nil
		}
	}
}

// catchSignals asks for the signals that concern the command. Those that our
// parent has told us to ignore, as nohup does, stay ignored.
func catchSignals() (signals <-chan os.Signal, release func()) {
	caught := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	// Asked for, so that it does not end us: a broken pipe is an error of the
	// write. Nobody reads it.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return caught, func() {
		signal.Stop(caught)
		signal.Stop(unread)
	}
}

// running returns the process, or nil if there is none. When it is just being
// started, its answer is waited for: the command may be running already.
func (r *runner) running() *client.Process {
	if r.executor.Load() != nil {
		select {
		case <-r.started:
		case <-time.After(signalTimeout):
		}
	}
	return r.process.Load()
}

// interrupt passes an interrupt on, if there is something that it can reach.
func (r *runner) interrupt() bool {
	process := r.running()
	if process == nil || r.exited.Load() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	return process.Signal(ctx, protocol.SignalInterrupt) == nil
}

// terminate ends the command because of a signal, lets the last of its output
// out, and returns the exit status.
func (r *runner) terminate(sig os.Signal, done <-chan outcome) int {
	status := exitSignal + int(sig.(syscall.Signal))
	if code := r.exited.Load(); code != nil && sig == os.Interrupt {
		status = *code // only what it left behind has been interrupted
	} else if r.kill() {
		select {
		case <-done:
		case <-time.After(tailTimeout):
		}
	}
	return status
}

// kill ends the command; it returns false if there is none.
func (r *runner) kill() bool {
	process := r.running()
	if process == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	_, _ = process.Terminate(ctx)
	return true
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
	params, err := r.command.start(executor.Info())
	if err != nil {
		return exitRunFailed, err
	}
	process, err := executor.Start(ctx, params)
	r.process.Store(process)
	close(r.started)
	if err != nil {
		return startFailure(params.Argv[0], params.CWD, err)
	}
	if r.command.TTY {
		if err := r.terminal.raw(os.Stdin); err != nil {
			r.kill()
			return exitRunFailed, err
		}
	}
	if params.TTY || params.PipeStdin {
		// A read of standard input can't be ended, so nobody waits for this.
		go forwardInput(ctx, process, os.Stdin, params.TTY, os.Stderr)
	}
	if err := r.sink.started(process.ID(), executor.SessionID()); err != nil {
		return r.stopped(err)
	}
	for {
		event, err := process.Next(ctx)
		if err != nil {
			return exitRunFailed, fmt.Errorf("following the command: %w", err)
		}
		switch event.Kind {
		case client.Exited:
			r.exited.Store(&event.ExitCode)
		case client.Gap:
			r.gaps = r.gaps || missing(event) != ""
		case client.Output, client.Closed:
		}
		if err := r.sink.event(event); err != nil {
			return r.stopped(err)
		}
		if event.Kind == client.Closed {
			return r.status()
		}
	}
}

// stopped ends the command because its output can't be written.
func (r *runner) stopped(err error) (int, error) {
	r.kill()
	if errors.Is(err, syscall.EPIPE) {
		return exitSignal + int(syscall.SIGPIPE), nil
	}
	return exitRunFailed, err
}

func (r *runner) status() (int, error) {
	code := r.exited.Load()
	switch {
	case code == nil || *code < 0:
		return exitRunFailed, errors.New("the executor does not know how the command ended")
	case *code == 0 && r.gaps:
		return exitRunFailed, errors.New("the command succeeded, but some of its output is missing")
	}
	return *code, nil
}
