package tree

import (
	"slices"
	"sync"
	"time"
)

// Look is a look at a tree that somebody waits for.
type Look struct {
	looker   *looker
	trees    []*Tree
	urgent   bool
	done     chan struct{}
	listings []Listing // of the trees; from when done is closed
}

// Look has the tree looked at, at once or, if that is not urgent, some time later:
// however many such looks are asked for at a keeper, they take up no more than a
// tenth of one processor. Who looks at the same time shares the look. The tree
// must not be released before it is done or has been canceled.
func (t *Tree) Look(urgent bool) *Look { return t.looker.add([]*Tree{t}, urgent) }

// Done is closed when the look has been done.
func (l *Look) Done() <-chan struct{} { return l.done }

// Listing returns what has been seen, once the look has been done.
func (l *Look) Listing() Listing { return l.listings[0] }

// Cancel tells that nobody waits for the look any more. It waits for one that is
// under way.
func (l *Look) Cancel() {
	if !l.looker.remove(l) {
		<-l.done
	}
}

// looker looks at the trees of a keeper for all who want to know.
type looker struct {
	list    func(trees []*Tree) []Listing // of trees that all differ
	running sync.WaitGroup                // the goroutine that looks while somebody waits
	wake    chan struct{}                 // tells it that waiting has changed; holds one

	mu      sync.Mutex
	looking bool      // guarded by mu; the goroutine is there
	waiting []*Look   // guarded by mu; for a look that has not begun
	rested  time.Time // guarded by mu; from then on is looked also if that is not urgent
}

// lookShare is how many times as long as a look has taken is rested after it.
const lookShare = 10

func newLooker(list func(trees []*Tree) []Listing) *looker {
	return &looker{list: list, wake: make(chan struct{}, 1)}
}

func (lr *looker) add(trees []*Tree, urgent bool) *Look {
	l := &Look{looker: lr, trees: trees, urgent: urgent, done: make(chan struct{})}
	lr.mu.Lock()
	defer lr.mu.Unlock()
	lr.waiting = append(lr.waiting, l)
	if lr.looking {
		lr.stir()
	} else {
		lr.looking = true
		lr.running.Go(lr.run)
	}
	return l
}

// remove reports whether the look has not begun, and now never will.
func (lr *looker) remove(l *Look) bool {
	lr.mu.Lock()
	defer lr.mu.Unlock()
	i := slices.Index(lr.waiting, l)
	if i < 0 {
		return false
	}
	lr.waiting = slices.Delete(lr.waiting, i, i+1)
	lr.stir()
	return true
}

func (lr *looker) stir() {
	select {
	case lr.wake <- struct{}{}:
	default:
	}
}

func (lr *looker) run() {
	for {
		looks, rest := lr.next()
		switch {
		case len(looks) > 0:
			lr.look(looks)
		case rest > 0:
			timer := time.NewTimer(rest)
			select {
			case <-timer.C:
			case <-lr.wake:
			}
			timer.Stop()
		default:
			return
		}
	}
}

// next returns all looks that are waited for, if there is one to be done now, or
// how long to rest. If it is neither the caller has to return.
func (lr *looker) next() (looks []*Look, rest time.Duration) {
	lr.mu.Lock()
	defer lr.mu.Unlock()
	if len(lr.waiting) == 0 {
		lr.looking = false
		return nil, 0
	}
	urgent := slices.ContainsFunc(lr.waiting, func(l *Look) bool { return l.urgent })
	if rest = time.Until(lr.rested); rest > 0 && !urgent {
		return nil, rest
	}
	looks, lr.waiting = lr.waiting, nil
	return looks, 0
}

// look does all these looks as one.
func (lr *looker) look(looks []*Look) {
	var trees []*Tree
	places := make(map[*Tree]int)
	for _, l := range looks {
		for _, t := range l.trees {
			if _, known := places[t]; !known {
				places[t] = len(trees)
				trees = append(trees, t)
			}
		}
	}
	began := time.Now()
	all := lr.list(trees)
	over := time.Now()

	lr.mu.Lock()
	lr.rested = over.Add(lookShare * over.Sub(began))
	lr.mu.Unlock()
	for _, l := range looks {
		for _, t := range l.trees {
			listing := all[places[t]]
			listing.Members = slices.Clone(listing.Members)
			l.listings = append(l.listings, listing)
		}
		close(l.done)
	}
}
