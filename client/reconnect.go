package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
)

const (
	// reconnectTimeout is below the 80 s for which executors keep a session.
	reconnectTimeout = 75 * time.Second
	// goodbyeTimeout is how long an executor that has said that it goes away is
	// tried all the same: it may have been something between it and us.
	goodbyeTimeout = time.Second
	// firstPause and longestPause bound the pauses between the attempts, which
	// double from one to the next.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// errNonsense ends a session whose executor sends what makes no sense: it would
// do so again.
var errNonsense = errors.New("a notification of the executor")

// errTimeOver ends the attempts to reconnect.
var errTimeOver = errors.New("no connection in time")

// reconnect resumes the session on a new connection. The error is what the
// executor's calls fail with from then on.
func (e *executor) reconnect(ctx context.Context, lost error) (*link, error) {
	timeout := cmp.Or(e.options.ReconnectTimeout, reconnectTimeout)
	goodbye, forGood := saidGoodbye(lost)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timeout < 0 || errors.Is(lost, errNonsense) || errors.Is(lost, rpc.ErrUnreadable):
		return nil, fmt.Errorf("%w: %w", ErrDisconnected, lost)
	case errors.Is(lost, transport.ErrTakenOver), errors.Is(lost, transport.ErrEnded):
		e.notify(lost)
		return nil, fmt.Errorf("%w: %w", ErrSessionLost, lost)
	case forGood:
		timeout = min(timeout, goodbyeTimeout)
	}
	e.notify(lost)
	trying, cancel := context.WithTimeoutCause(ctx, timeout, errTimeOver)
	defer cancel()
	for attempt, last := 0, lost; ; attempt++ {
		select {
		case <-time.After(pause(attempt)):
		case <-trying.Done():
			return nil, gaveUp(trying, last)
		}
		// Who has said goodbye knows that we are gone. If the session is in use
		// all the same, somebody else has taken it, and shall keep it.
		l, err := e.open(trying, ctx, !goodbye)
		switch {
		case err == nil:
			return l, nil
		case trying.Err() != nil:
			return nil, gaveUp(trying, last)
		case errors.Is(err, ErrSessionLost):
			return nil, err
		case isGone(err):
			return nil, fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		last = err
	}
}

// gaveUp is the error with which the attempts end, and the last of them had.
func gaveUp(ctx context.Context, last error) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errTimeOver) {
		return cause
	}
	return fmt.Errorf("%w, and it could not be reached again in time: %w", ErrDisconnected, last)
}

// pause returns how long to wait before an attempt. Half of it is left to
// chance: many clients may have lost their connection at once.
func pause(attempt int) time.Duration {
	longest := min(firstPause<<min(attempt, 16), longestPause)
	return longest/2 + rand.N(longest/2+1)
}
