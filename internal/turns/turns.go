// Package turns lets a few do something at the same time while others wait, but not
// for ever: one that works on files may be held up for good, by a file system that
// does not answer.
package turns

import (
	"context"
	"time"
)

// Turns are places for those who do something at the same time.
type Turns struct {
	taken    chan struct{} // has as much in it as there are places taken
	patience time.Duration
}

// New makes so many places. Whoever has waited for the patience takes over the place
// of somebody who has one, and is held up for all that is known.
func New(places int, patience time.Duration) *Turns {
	return &Turns{taken: make(chan struct{}, places), patience: patience}
}

// Take waits for a place. It is given back by done, which must be called once. The
// error is that of the context.
func (t *Turns) Take(ctx context.Context) (done func(), err error) {
	select {
	case t.taken <- struct{}{}:
		return t.giveBack, nil
	default:
	}
	patience := time.NewTimer(t.patience)
	defer patience.Stop()
	select {
	case t.taken <- struct{}{}:
	case <-patience.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return t.giveBack, nil
}

// giveBack gives any place back: one that has been taken over is given back twice,
// and the second time there may be none.
func (t *Turns) giveBack() {
	select {
	case <-t.taken:
	default:
	}
}
