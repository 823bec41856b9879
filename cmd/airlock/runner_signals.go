package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
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
	// terminationGrace is what a command gets to end by itself when we are
	// terminated; the help tells it.
	terminationGrace = 5 * time.Second
	// settleTime is how long signals get that come together with SIGCONT, before
	// we stop again in the background: a shell's kill sends both.
	settleTime = 100 * time.Millisecond
)

// caughtSignals is how many signals may wait: one of each.
const caughtSignals = 16

// signalUse is what is done about a signal.
type signalUse struct {
	signal os.Signal
	action signalAction
	name   protocol.SignalName // what passes and resizes send
}

type signalAction int

const (
	ends       signalAction = iota // the command, and us
	interrupts                     // the command, and us the second time
	passes                         // to the command
	resizes                        // the command's terminal, or else passes
	stops                          // the command, if it has no terminal, and us
	continues
)

// catchSignals asks for the signals that concern the command. Those that our
// parent has told us to ignore, as nohup does, stay ignored.
func catchSignals() (signals <-chan os.Signal, release func()) {
	caught := make(chan os.Signal, caughtSignals)
	for _, use := range signalUses {
		if !signal.Ignored(use.signal) {
			signal.Notify(caught, use.signal)
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

// useOf returns what is done about a signal.
func useOf(sig os.Signal) signalUse {
	for _, use := range signalUses {
		if use.signal == sig {
			return use
		}
	}
	return signalUse{signal: sig, action: ends}
}

// react does what a signal says. It reports false if that is the end.
func (r *runner) react(sig os.Signal) bool {
	use := useOf(sig)
	switch use.action {
	case interrupts:
		again := r.interrupted
		r.interrupted = true
		if again || !r.interrupt() {
			return false
		}
		r.startHint()
	case resizes:
		if r.command.TTY {
			r.lookAtSize()
			return true
		}
		_ = r.send(use.name)
	case passes:
		if err := r.send(use.name); err != nil {
			if sig == quitSignal {
				return false
			}
			fmt.Fprintf(&r.terminal, "airlock: warning: the command has not got SIG%s: %v\n", use.name, err)
		}
	case stops:
		r.stop()
	case continues:
		if r.terminal.inBackground() {
			select {
			case with := <-r.signals:
				if with != sig && !r.react(with) {
					return false
				}
			case <-time.After(settleTime):
			}
		}
		r.goOn()
	case ends:
		return false
	}
	return true
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

// hintDelay is how long a command may take to end by an interrupt before the user
// is told of the second one.
const hintDelay = 2 * time.Second

// startHint has the user told what a second interrupt does, if the command is still
// there by then. One with a terminal has the key itself.
func (r *runner) startHint() {
	if r.command.TTY {
		return
	}
	r.hint = time.AfterFunc(hintDelay, func() {
		if r.exited.Load() == nil {
			fmt.Fprintln(&r.terminal, "airlock: the command has got the interrupt, and goes on; a second one (Ctrl-C) ends it")
		}
	})
}

func (r *runner) stopHint() {
	if r.hint != nil {
		r.hint.Stop()
	}
}

var errNotRunning = errors.New("it is not running")

// send passes a signal on.
func (r *runner) send(name protocol.SignalName) error {
	process := r.running()
	if process == nil {
		return errNotRunning
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	delivered, err := process.SendSignal(ctx, name)
	if err == nil && !delivered {
		err = errNotRunning
	}
	return err
}

// stop stops the command and us. A command with a terminal goes on: it only has
// nobody who looks at it.
func (r *runner) stop() {
	if !r.command.TTY {
		r.halted.Store(r.send(protocol.SignalSTOP) == nil)
	}
	r.terminal.give()
	stopSelf()
}

// goOn undoes stop, which may not have been what has stopped us.
func (r *runner) goOn() {
	if !r.command.TTY {
		_ = r.send(protocol.SignalCONT)
		r.halted.Store(false)
		return
	}
	if err := r.terminal.takeAgain(); err != nil {
		fmt.Fprintf(&r.terminal, "airlock: %v\n", err)
	}
	r.redraw.Store(true)
	r.lookAtSize()
}

// terminate ends the command because of a signal, lets the last of its output
// out, and returns the exit status.
func (r *runner) terminate(sig os.Signal, done <-chan outcome) int {
	if code := r.exited.Load(); code != nil && sig == os.Interrupt {
		return *code // only what it left behind has been interrupted
	}
	if r.terminateFor(sig) && !r.terminal.inBackground() { // where no output comes out
		select {
		case <-done:
		case <-time.After(tailTimeout):
		}
	}
	return exitSignal + int(sig.(syscall.Signal))
}

// terminateFor ends the command: with a grace if we are asked to end, as long as
// we are not asked again. It returns false if there is none.
func (r *runner) terminateFor(sig os.Signal) bool {
	if r.running() == nil {
		return false
	}
	if useOf(sig).action != ends {
		return r.kill()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan bool, 1)
	go func() { ended <- r.terminateTree(ctx, sig) }()
	for {
		select {
		case ok := <-ended:
			return ok || r.kill()
		case again := <-r.signals:
			if action := useOf(again).action; action == ends || action == interrupts || again == quitSignal {
				return r.kill()
			}
		}
	}
}

// terminateTree ends the command and all that it has started, with a grace if the
// executor can do that. It reports whether they have ended.
func (r *runner) terminateTree(ctx context.Context, sig os.Signal) bool {
	process := r.running()
	if process == nil {
		return false
	}
	if sig == hangupSignal {
		_ = r.send(protocol.SignalHUP) // shells care about nothing else
	}
	if r.halted.Load() {
		_ = r.send(protocol.SignalCONT)
	}
	ctx, cancel := context.WithTimeout(ctx, terminationGrace+signalTimeout)
	defer cancel()
	_, err := process.TerminateTree(ctx, terminationGrace)
	return err == nil
}

// kill kills the command; it returns false if there is none.
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
