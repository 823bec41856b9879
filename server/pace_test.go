package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// TestPace: what is read takes its time, however many read at once; what is given
// back does not.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		began := time.Now()
		const each, readers = limits.ObservedBytes, 64
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				if err := sleep(t.Context(), nil, p.take()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		// The first one need not wait.
		if got, want := time.Since(began), cost(each)*(readers-1); got != want {
			t.Errorf("reading took %v, want %v", got, want)
		}
		time.Sleep(time.Hour) // which saves up nothing
		if wait := p.take(); wait != 0 {
			t.Errorf("after a rest it has to wait %v", wait)
		}
		if wait := p.take(); wait != cost(each) {
			t.Errorf("and then %v", wait)
		}
		p.give(each)
		p.give(each)
		if wait := p.take(); wait != 0 {
			t.Errorf("what has been given back takes %v", wait)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("reason")
		cancel(reason)
		if err := sleep(ctx, nil, time.Hour); !errors.Is(err, reason) {
			t.Errorf("a wait that is over fails with %v", err)
		}
		hurry := make(chan struct{})
		close(hurry)
		if err := sleep(t.Context(), hurry, time.Hour); err != nil {
			t.Errorf("a wait in a hurry fails with %v", err)
		}
	})
}
