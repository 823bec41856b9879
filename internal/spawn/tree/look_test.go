package tree

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a looker whose looks take a time and see one member, numbered by the
// look.
type watched struct {
	*looker
	t     *testing.T
	takes time.Duration
	spent atomic.Int64 // by looks
	looks atomic.Int32
}

func watch(t *testing.T, takes time.Duration) *watched {
	w := &watched{t: t, takes: takes}
	w.looker = newLooker(w.look)
	return w
}

func (w *watched) look(trees []*Tree) []Listing {
	for i, tree := range trees {
		if slices.Contains(trees[:i], tree) {
			w.t.Error("a tree is looked at twice in one look")
		}
	}
	number := int(w.looks.Add(1))
	<-time.After(w.takes)
	w.spent.Add(int64(w.takes))
	all := make([]Listing, len(trees))
	for i := range all {
		all[i] = Listing{Members: []Member{{PID: number}}, Complete: true}
	}
	return all
}

func (w *watched) tree() *Tree { return &Tree{looker: w.looker} }

// Who looks at the same time shares a look, and never gets one that has begun
// before it asked.
func TestLooksAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 10*time.Millisecond)
		shared := w.tree()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				tree := shared
				if i%2 == 0 {
					tree = w.tree()
				}
				before := int(w.looks.Load())
				l := tree.Members()
				if !l.Complete || len(l.Members) != 1 || l.Members[0].PID <= before {
					t.Errorf("%+v, when %d looks had begun", l, before)
				}
				l.Members[0].PID = -1 // it is the caller's own
			})
		}
		all.Wait()
		if n := w.looks.Load(); n > 2 {
			t.Errorf("%d looks for those who came at once, and while that was done; want 2", n)
		}
	})
}

// Patient looks, of however many, leave nine tenths of a processor alone; an
// urgent one comes at once, and serves those who are patient, too.
func TestLooksRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes, lasts = 10 * time.Millisecond, 10 * time.Second
		w := watch(t, takes)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				<-time.After(time.Duration(i) * 7 * time.Millisecond)
				for tree := w.tree(); time.Since(began) < lasts; {
					l := tree.Look(false)
					<-l.Done()
					if n := len(l.Listing().Members); n != 1 {
						t.Errorf("%d members", n)
					}
					<-time.After(time.Millisecond)
				}
			})
		}
		all.Wait()
		took := time.Since(began)
		if spent := time.Duration(w.spent.Load()); spent > took/10 || spent < took/15 {
			t.Errorf("%v of %v were spent, want no more than a tenth, and not much less", spent, took)
		}

		// One alone is looked for at once when there has been no look lately.
		<-time.After(time.Second)
		at := func(since time.Time, l *Look) time.Duration {
			<-l.Done()
			return time.Since(since)
		}
		now := time.Now()
		if took := at(now, w.tree().Look(false)); took != takes {
			t.Errorf("a patient look took %v", took)
		}
		now = time.Now()
		patient := w.tree().Look(false)
		if took := at(now, w.tree().Look(true)); took != takes {
			t.Errorf("an urgent look took %v", took)
		}
		if took := at(now, patient); took != takes {
			t.Errorf("the patient one beside it took %v", took)
		}
		w.running.Wait()
	})
}

// A look that nobody waits for is not done, or is over when Cancel returns: the
// tree may be given up then.
func TestLookCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, time.Minute)
		under := w.tree().Look(true)
		synctest.Wait()
		waiting := w.tree().Look(true)
		now := time.Now()
		waiting.Cancel()
		if time.Since(now) != 0 {
			t.Error("waited for a look that had not begun")
		}
		under.Cancel()
		if time.Since(now) != time.Minute {
			t.Error("did not wait for the look that was under way")
		}
		under.Cancel() // it may be over
		now = time.Now()
		resting := w.tree().Look(false)
		synctest.Wait()
		resting.Cancel()
		w.running.Wait() // nobody is left to rest
		if time.Since(now) != 0 || w.looks.Load() != 1 {
			t.Errorf("%d looks, after %v", w.looks.Load(), time.Since(now))
		}
	})
}
