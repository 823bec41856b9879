package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

const patience = 10 * time.Second

// take takes a place and tells how long that has taken.
func take(t *testing.T, turns *Turns) (done func(), waited time.Duration) {
	t.Helper()
	from := time.Now()
	done, err := turns.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done, time.Since(from)
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(2, patience)
		for range 2 {
			done, waited := take(t, turns)
			if waited > 0 {
				t.Errorf("one waits for %v while there are places", waited)
			}
			time.AfterFunc(time.Second, done)
		}
		if _, waited := take(t, turns); waited != time.Second {
			t.Errorf("one waits for %v, not until another is done", waited)
		}
	})
}

// TestHeldUp: those that are held up for good cost the others some time, but only
// once each, and when they get on all the same nothing is wrong.
func TestHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(2, patience)
		var heldUp []func()
		for range 2 {
			done, _ := take(t, turns)
			heldUp = append(heldUp, done)
		}
		done, waited := take(t, turns)
		if waited != patience {
			t.Errorf("the first waits for %v", waited)
		}
		for range 3 {
			done()
			if done, waited = take(t, turns); waited > 0 {
				t.Errorf("another waits for %v", waited)
			}
		}
		done()
		for _, done := range heldUp {
			done()
		}
		for range 2 {
			if _, waited := take(t, turns); waited > 0 {
				t.Errorf("one waits for %v when all are done", waited)
			}
		}
		if _, waited := take(t, turns); waited != patience {
			t.Errorf("there is a place more than before: waited for %v", waited)
		}
	})
}

func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, patience)
		take(t, turns)
		why := errors.New("given up")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		from := time.Now()
		if _, err := turns.Take(ctx); !errors.Is(err, why) || time.Since(from) != time.Second {
			t.Errorf("%v, after %v", err, time.Since(from))
		}
	})
}
