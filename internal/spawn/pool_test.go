package spawn

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// thing is what the pools of these tests hold.
type thing struct {
	dead, discarded bool
}

// factory makes things and counts them.
type factory struct {
	mu    sync.Mutex
	made  []*thing
	fails error
}

func (f *factory) make() (*thing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	f.made = append(f.made, &thing{})
	return f.made[len(f.made)-1], nil
}

func (f *factory) alive(t *thing) bool { return !t.dead }

func (f *factory) discard(t *thing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.discarded {
		panic("discarded twice")
	}
	t.discarded = true
}

// waiting returns how many there are that nobody has.
func (p *pool[T]) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ready)
}

func TestPoolGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f factory
		p := newPool(4, f.make, f.alive, f.discard)
		settle := func() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		burst := func(n int) (found int) {
			for range n {
				if _, ok := p.take(); ok {
					found++
				}
			}
			settle()
			return found
		}
		if p.waiting() != 0 || len(f.made) != 0 {
			t.Error("something was made before anybody wanted it")
		}
		for i, want := range []struct{ found, waiting int }{{0, 4}, {4, 4}} {
			if found := burst(5); found != want.found || p.waiting() != want.waiting {
				t.Errorf("burst %d: %d found, %d waiting; want %+v", i, found, p.waiting(), want)
			}
		}
		for range 3 { // one now and then
			burst(1)
			time.Sleep(limits.PreparedReview)
			synctest.Wait()
		}
		if p.waiting() != 1 {
			t.Errorf("%d wait for one now and then", p.waiting())
		}
		time.Sleep(limits.PreparedIdle + 2*limits.PreparedReview)
		synctest.Wait()
		p.mu.Lock()
		if p.running || len(p.ready) > 0 {
			t.Errorf("after the idle time: running %v, %d waiting", p.running, len(p.ready))
		}
		p.mu.Unlock()
		if burst(1); p.waiting() != 1 {
			t.Errorf("%d waiting after another start", p.waiting())
		}
		p.close()
		if _, ok := p.take(); ok {
			t.Error("a closed pool gives something")
		}
		p.close()
		given := 0
		for _, made := range f.made {
			if !made.discarded {
				given++
			}
		}
		if p.waiting() != 0 || given != 4+3 {
			t.Errorf("%d given out, %d of which waiting", given, p.waiting())
		}
	})
}

// What has died is not given out, and what is out of date is not either; both are
// discarded once.
func TestPoolSkipsTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f factory
		p := newPool(4, f.make, f.alive, f.discard)
		defer p.close()
		p.take()
		time.Sleep(time.Second)
		synctest.Wait()
		f.made[0].dead = true
		if got, ok := p.take(); ok || got != nil {
			t.Error("a dead one was given out")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !f.made[0].discarded || p.waiting() != 2 {
			t.Errorf("discarded %v, %d waiting", f.made[0].discarded, p.waiting())
		}
		p.drop()
		if _, ok := p.take(); ok {
			t.Error("one was given out that is out of date")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i, made := range f.made[:3] {
			if !made.discarded {
				t.Errorf("%d was not discarded", i)
			}
		}
	})
}

// If none can be made, nobody goes on trying; whoever takes the next one hears why.
func TestPoolFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := factory{fails: errors.New("no")}
		p := newPool(4, f.make, f.alive, f.discard)
		defer p.close()
		p.take()
		time.Sleep(time.Second)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running || p.want != 0 {
			t.Errorf("running %v, wants %d", p.running, p.want)
		}
	})
}

// Takers at the same time never get the same one.
func TestPoolGivesEachOnce(t *testing.T) {
	t.Parallel()
	var f factory
	p := newPool(8, f.make, f.alive, f.discard)
	var mu sync.Mutex
	seen := map[*thing]bool{}
	var takers sync.WaitGroup
	for range 8 {
		takers.Go(func() {
			for range 2000 {
				got, ok := p.take()
				if !ok {
					continue
				}
				mu.Lock()
				if seen[got] {
					t.Error("given out twice")
				}
				seen[got] = true
				mu.Unlock()
			}
		})
	}
	takers.Wait()
	p.close()
	for _, made := range f.made {
		if made.discarded == seen[made] {
			t.Error("discarded and given out, or neither")
		}
	}
}
