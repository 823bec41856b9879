package tree

import (
	"sync"
	"time"
)

// hunter kills the trees of a keeper. However many are to be killed at a time,
// they share its scans.
type hunter struct {
	marker  *marker
	running sync.WaitGroup // the goroutine that scans while there are hunts

	mu    sync.Mutex
	hunts map[*walkPlace]*hunt // guarded by mu; nil when nothing runs
}

// hunt is the killing of one tree.
type hunt struct {
	quarry
	deadline time.Time
	done     chan struct{} // closed at the end; then gone tells how it has ended
}

// wait waits for the end and reports whether the tree is known to be dead.
func (h *hunt) wait() bool {
	<-h.done
	return h.gone()
}

// join begins to kill a tree, unless that is under way.
func (hr *hunter) join(p *walkPlace) *hunt {
	hr.mu.Lock()
	defer hr.mu.Unlock()
	if h := hr.hunts[p]; h != nil {
		return h
	}
	h := &hunt{
		quarry:   quarry{target: p.target, kill: true},
		deadline: time.Now().Add(killTime),
		done:     make(chan struct{}),
	}
	if hr.hunts == nil {
		hr.hunts = make(map[*walkPlace]*hunt)
		hr.running.Go(hr.run)
	}
	hr.hunts[p] = h
	return h
}

func (hr *hunter) run() {
	var p pauses
	for {
		quarries, over := hr.next()
		for _, h := range over {
			h.killStopped() // some may be left if there was no time
			close(h.done)
		}
		if len(quarries) == 0 {
			return
		}
		fresh, _ := track(hr.marker, quarries)
		switch {
		case fresh:
			p.pause = 0 // look for what they have started meanwhile
		case len(remaining(quarries)) > 0:
			p.deadline = time.Now().Add(killTime)
			p.next() // they take their time to die
		}
	}
}

// next returns the hunts that are over, and what the others are for. If there
// are none the caller has to return.
func (hr *hunter) next() (quarries []*quarry, over []*hunt) {
	hr.mu.Lock()
	defer hr.mu.Unlock()
	now := time.Now()
	for p, h := range hr.hunts {
		if !h.gone() && now.Before(h.deadline) {
			quarries = append(quarries, &h.quarry)
			continue
		}
		if h.gone() {
			p.end()
		}
		delete(hr.hunts, p)
		over = append(over, h)
	}
	if len(quarries) == 0 {
		hr.hunts = nil
	}
	return quarries, over
}
