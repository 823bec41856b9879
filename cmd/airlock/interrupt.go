package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interruptError is the end of a context by a signal.
type interruptError struct{ signal syscall.Signal }

func (i *interruptError) Error() string { return fmt.Sprintf("ended by a signal: %v", i.signal) }

// status is the exit status of who has been ended so.
func (i *interruptError) status() statusError { return statusError(exitSignal + int(i.signal)) }

// interruptible returns a context that ends with the first signal that asks us to end,
// for those who have to clean up. The second signal ends the program at once. Signals
// that our parent has told us to ignore stay ignored.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	caught := make(chan os.Signal, 1)
	for _, use := range signalUses {
		if (use.action == interrupts || use.action == ends) && !signal.Ignored(use.signal) {
			signal.Notify(caught, use.signal)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case sig := <-caught:
			number, _ := sig.(syscall.Signal)
			cancel(&interruptError{number})
		case <-ctx.Done():
		}
		signal.Stop(caught)
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// endedBy returns the error of who has been ended by a signal with its exit status,
// or the error as it is.
func endedBy(ctx context.Context, err error) error {
	if ended, ok := errors.AsType[*interruptError](context.Cause(ctx)); ok && err != nil {
		return ended.status()
	}
	return err
}
