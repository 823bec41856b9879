package spawn

import (
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pool keeps things ready that take their time to be made. It holds none until the
// first is wanted; each time that none is there it will hold more, until there
// are enough for what is taken at once; and fewer, when so many are not taken. It
// makes them in a goroutine of its own, which there is only while it is needed.
// Each is given to one taker only.
type pool[T any] struct {
	most    int
	make    func() (T, error)
	alive   func(T) bool // what has died while it waited is not given out
	discard func(T)

	wake    chan struct{}
	closing chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	ready   []T  // guarded by mu; the oldest first
	spent   []T  // guarded by mu; to be discarded
	want    int  // guarded by mu; how many there should be
	taken   int  // guarded by mu; since the last review
	running bool // guarded by mu
	closed  bool // guarded by mu
}

func newPool[T any](most int, produce func() (T, error), alive func(T) bool, discard func(T)) *pool[T] {
	return &pool[T]{
		most: most, make: produce, alive: alive, discard: discard,
		wake: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// take returns one that is ready, if there is any. It does not wait.
func (p *pool[T]) take() (thing T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return thing, false
	}
	p.taken++
	for len(p.ready) > 0 && !ok {
		first := p.ready[0]
		p.ready = p.ready[1:]
		if ok = p.alive(first); ok {
			thing = first
		} else {
			p.spent = append(p.spent, first)
		}
	}
	if !ok {
		p.want = min(p.most, max(1, 2*p.want))
	}
	p.stir()
	return thing, ok
}

// drop gives up all that are ready: they are out of date.
func (p *pool[T]) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = append(p.spent, p.ready...)
	p.ready = nil
	p.stir()
}

// stir has the goroutine look. The caller holds the lock.
func (p *pool[T]) stir() {
	if !p.running && !p.closed {
		p.running = true
		p.done.Go(p.run)
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// gentle is how long who has taken one is left alone, before another is made, which
// takes a processor as long. A short command has ended by then.
const gentle = 8 * time.Millisecond

// run keeps the pool at its size until nobody has taken anything for a while.
func (p *pool[T]) run() {
	review := time.NewTicker(limits.PreparedReview)
	defer review.Stop()
	for quiet := time.Duration(0); ; {
		select {
		case <-p.closing:
			return
		case <-p.wake:
			select {
			case <-p.closing:
				return
			case <-time.After(gentle):
			}
		case <-review.C:
			quiet = p.review(quiet)
		}
		p.adjust()
		if p.rest() {
			return
		}
	}
}

// review makes the pool as small as will do, going by what has been taken since the
// last one; and empty, if nothing has been for some time.
func (p *pool[T]) review(quiet time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken > 0 {
		p.want = min(p.want, p.taken)
		p.taken = 0
		return 0
	}
	quiet += limits.PreparedReview
	p.want = min(p.want, 1)
	if quiet >= limits.PreparedIdle {
		p.want = 0
	}
	return quiet
}

// adjust makes and discards as many as it takes.
func (p *pool[T]) adjust() {
	for {
		p.mu.Lock()
		spent := p.spent
		p.spent = nil
		if n := len(p.ready) - p.want; n > 0 {
			spent = append(spent, p.ready[:n]...)
			p.ready = p.ready[n:]
		}
		more := len(p.ready) < p.want && !p.closed
		p.mu.Unlock()
		for _, thing := range spent {
			p.discard(thing)
		}
		if !more {
			return
		}
		thing, err := p.make()
		p.mu.Lock()
		if err != nil {
			p.want = 0 // who takes the next one hears why
		} else {
			p.ready = append(p.ready, thing)
		}
		p.mu.Unlock()
	}
}

// rest ends the goroutine if there is nothing to do for it.
func (p *pool[T]) rest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want > 0 || len(p.ready) > 0 || len(p.spent) > 0 {
		return false
	}
	p.running = false
	return true
}

// close discards all, and waits until that is done.
func (p *pool[T]) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
	p.mu.Unlock()
	p.done.Wait()
	p.mu.Lock()
	left := append(p.ready, p.spent...)
	p.ready, p.spent = nil, nil
	p.mu.Unlock()
	for _, thing := range left {
		p.discard(thing)
	}
}
