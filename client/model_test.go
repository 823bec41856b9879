package client

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

// step is something that happens in a schedule.
type step struct {
	what string
	n    int
	// order is that of the notifications, if they need not come in order, and
	// how many of them come twice.
	order []int
	twice int
}

func steps(paced bool) *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{
			what: rapid.SampledFrom([]string{"output", "output", "output", "tiny", "exit", "take", "cut", "evict", "sleep"}).Draw(t, "what"),
			n:    rapid.IntRange(1, 12).Draw(t, "n"),
		}
		if s.what == "tiny" {
			s.n *= 50
		}
		if s.what == "output" && !paced {
			numbers := make([]int, s.n)
			for n := range numbers {
				numbers[n] = n
			}
			s.order = rapid.Permutation(numbers).Draw(t, "order")
			s.twice = rapid.IntRange(0, s.n).Draw(t, "twice")
		}
		return s
	})
	return rapid.SliceOfN(one, 1, 40)
}

// TestSchedules: whatever is cut, reordered, repeated and dropped, the events
// are those that happened, in order, and gaps are told where some were dropped,
// and nowhere else.
func TestSchedules(t *testing.T) {
	for name, features := range map[string][]string{"paced": pacing, "not paced": nil} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				schedule := steps(features != nil).Draw(r, "schedule")
				var problem error
				synctest.Test(t, func(t *testing.T) { problem = play(t, newFake(t, features...), schedule) })
				if problem != nil {
					r.Fatal(problem)
				}
			})
		})
	}
}

// play runs a schedule and checks what comes of it.
func play(t *testing.T, f *fake, schedule []step) error {
	e := open(t, f, Options{})
	p := begin(t, e, "p")
	q := f.procs["p"]
	permits := make(chan struct{}, 1<<20)
	taken, watched := make(chan error, 1), make(chan error, 1)
	go func() { taken <- f.check(q, permits, func() (Event, error) { return p.Next(t.Context()) }) }()
	go func() {
		next, stop := iter.Pull2(p.Events(t.Context(), 0))
		defer stop()
		watched <- f.check(q, permits, func() (Event, error) {
			event, err, ok := next()
			if !ok {
				err = io.EOF
			}
			return event, err
		})
	}()
	exited := false
	for _, s := range schedule {
		switch s.what {
		case "output", "tiny":
			f.some(q, s)
		case "exit":
			if !exited {
				f.happen(q, Event{Kind: Exited, ExitCode: 3})
			}
			exited = true
		case "take":
			for range s.n {
				permits <- struct{}{}
			}
			synctest.Wait()
		case "cut":
			f.cut()
		case "evict":
			f.evict(q, q.evicted+uint64(s.n*s.n))
		case "sleep":
			time.Sleep(time.Duration(s.n*s.n) * time.Millisecond)
		}
	}
	if !exited {
		f.happen(q, Event{Kind: Exited, ExitCode: 3})
	}
	f.happen(q, Event{Kind: Closed})
	close(permits)
	if err := errors.Join(<-taken, <-watched); err != nil {
		return err
	}
	if waiting := p.inbox.cost(); waiting != 0 {
		return fmt.Errorf("%d bytes wait in the end", waiting)
	}
	if code, err := p.Wait(t.Context()); code != 3 || err != nil {
		return fmt.Errorf("exit code %d, error %w", code, err)
	}
	return nil
}

// some lets a process write, and tells of it as a step says.
func (f *fake) some(p *fakeProcess, s step) {
	var events []Event
	for n := range s.n {
		e := Event{Kind: Output, Stream: protocol.StreamStdout, Data: fmt.Appendf(nil, "%d of %d", n, s.n)}
		if n%3 == 0 {
			e.Stream = protocol.StreamStderr
		}
		events = append(events, e)
	}
	if s.order == nil {
		f.happen(p, events...)
		return
	}
	first := uint64(len(p.log)) + 1
	f.quietly(p, events...)
	for n, at := range s.order {
		f.tell(p, first+uint64(at))
		if n < s.twice {
			f.tell(p, first+uint64(at))
		}
	}
}

// check takes events, one for each permit and in the end all, and compares them
// with what has happened.
func (f *fake) check(p *fakeProcess, permits <-chan struct{}, next func() (Event, error)) error {
	var last, exit uint64
	var kinds []EventKind
	bytes := map[protocol.Stream]uint64{}
	unknown := false
	for {
		<-permits
		e, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		log, evicted := p.log, p.evicted
		f.mu.Unlock()
		for _, i := range log {
			if i.Kind == Exited {
				exit = i.Seq
			}
		}
		// An exit right behind what is dropped can't be told from that.
		if exit == evicted+1 {
			evicted++
		}
		late := e.Kind == Exited && exit <= evicted
		switch {
		case e.Kind == Gap && (e.FirstSeq != last+1 || e.Seq < e.FirstSeq || e.Seq > evicted):
			return fmt.Errorf("after %d: %s, but up to %d is dropped", last, describe(e), evicted)
		case e.Kind == Gap:
			for stream, n := range e.Missed {
				bytes[stream] += n
			}
			unknown = e.Missed == nil // or counted together with this one
		case late && e.Seq <= last+1:
			e.Seq = max(e.Seq, last)
		case e.Seq != last+1 || log[e.Seq-1].Kind != e.Kind || string(log[e.Seq-1].Data) != string(e.Data):
			return fmt.Errorf("after %d: %s, which did not happen", last, describe(e))
		case e.Kind == Output:
			bytes[e.Stream] += uint64(len(e.Data))
		}
		last = e.Seq
		if e.Kind == Exited || e.Kind == Closed {
			kinds = append(kinds, e.Kind)
		}
	}
	if len(kinds) != 2 || kinds[0] != Exited || kinds[1] != Closed {
		return fmt.Errorf("the end: %v", kinds)
	}
	wanted := map[protocol.Stream]uint64{}
	for _, i := range p.log {
		wanted[i.Stream] += uint64(len(i.Data))
	}
	for stream, n := range wanted {
		if bytes[stream] != n && !unknown {
			return fmt.Errorf("%d of %d bytes of %s", bytes[stream], n, stream)
		}
	}
	if unknown && f.features != nil {
		return errors.New("a gap of unknown size")
	}
	return nil
}

// cost returns what all that waits to be taken costs.
func (b *inbox) cost() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes + b.order.bytes
}
