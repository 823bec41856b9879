package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// replay takes all events after a number and writes them down.
func replay(t *testing.T, p *Process, after uint64) string {
	t.Helper()
	var all []string
	for e, err := range p.Events(t.Context(), after) {
		if err != nil {
			t.Error(err)
			break
		}
		all = append(all, describe(e))
	}
	return strings.Join(all, " ")
}

// TestEvents: several see the same, from where they want, whoever takes the
// events otherwise, and whatever becomes of the connection.
func TestEvents(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		results := make(chan string)
		watch := func(after uint64) { go func() { results <- replay(t, p, after) }() }
		watch(0)
		f.happen(q, out("a"))
		synctest.Wait()
		f.happen(q, out("b"), Event{Kind: Exited}, out("c"))
		synctest.Wait()
		watch(2)
		watch(0)
		synctest.Wait()
		f.cut()
		f.happen(q, out("d"))
		time.Sleep(time.Minute)
		f.happen(q, out("e"), Event{Kind: Closed})
		got := map[string]int{}
		for range 3 {
			got[<-results]++
		}
		if got["o1 o2 x3 o4 o5 o6 c7"] != 2 || got["x3 o4 o5 o6 c7"] != 1 {
			t.Errorf("got %v", got)
		}
		if got, want := replay(t, p, 5), "o6 c7"; got != want {
			t.Errorf("afterwards: %s", got)
		}
		if got := replay(t, p, 7); got != "" {
			t.Errorf("after the end: %s", got)
		}
		if got, want := follow(t, p), "o1:a o2:b x3 o4:c o5:d o6:e c7"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestEventsArePolled: an executor that does one thing after the other is not
// asked to wait.
func TestEventsArePolled(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		f.happen(f.procs["p"], out("a"))
		var last error
		for _, err := range p.Events(ctx, 0) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("ends with %v", last)
		}
		if n := f.calls(protocol.MethodProcessRead); n > 22 || f.paces() == (n < 10) {
			t.Errorf("%d reads", n)
		}
	})
}

// TestEventsOfASlowWatcher: what was dropped before it was reached is said.
func TestEventsOfASlowWatcher(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		f.happen(q, out("a"), out("b"))
		var all []string
		for event, err := range p.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, describe(event))
			if event.Seq == 2 {
				f.happen(q, out("c"), out("d"), Event{Kind: Exited}, out("e"), Event{Kind: Closed})
				f.evict(q, 4)
			}
		}
		want := "o1 o2 g3-4 x5 o6 c7"
		if f.paces() {
			want = "o1 o2 g3-5:stdout=2 o6 x6 c7" // the exit may have been before
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestEventsBreak: who stops looking leaves nothing behind.
func TestEventsBreak(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		f.happen(f.procs["p"], out("a"), out("b"))
		for range p.Events(t.Context(), 0) {
			break
		}
	})
}

// TestWake: the newest number is told, at once if there is news, over cuts.
func TestWake(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake) {
		e := open(t, f, Options{})
		p := begin(t, e, "p")
		q := f.procs["p"]
		woken := make(chan uint64)
		wake := func(after uint64) {
			go func() {
				n, err := p.Wake(t.Context(), after)
				if err != nil {
					t.Errorf("after %d: %v", after, err)
				}
				woken <- n
			}()
		}
		wake(0)
		synctest.Wait()
		f.happen(q, out("a"))
		if n := <-woken; n != 1 {
			t.Errorf("woken at %d", n)
		}
		f.happen(q, out("b"), out("c"))
		synctest.Wait()
		wake(1)
		if n := <-woken; n != 3 {
			t.Errorf("woken at %d", n)
		}
		wake(3)
		synctest.Wait()
		f.cut()
		f.happen(q, out("d"))
		if n := <-woken; n != 4 {
			t.Errorf("woken at %d", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err := p.Wake(ctx, 4); n != 4 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("woken at %d, error %v", n, err)
		}
		f.happen(q, Event{Kind: Exited}, Event{Kind: Closed})
		synctest.Wait()
		if n, err := p.Wake(t.Context(), 6); n != 6 || !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %d, error %v", n, err)
		}
		if n, err := e.Process("p").Wake(t.Context(), 2); n != 6 || err != nil {
			t.Errorf("asked later: %d, error %v", n, err)
		}
		if n, err := e.Process("p").Wake(t.Context(), 6); n != 6 || !errors.Is(err, io.EOF) {
			t.Errorf("asked after the end: %d, error %v", n, err)
		}
	})
}
