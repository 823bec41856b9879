package watch

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// event is what has happened in a directory, or to it.
type event struct {
	post *post  // nil if it concerns all
	name string // what in the directory; "" is the directory itself
	op   op
	dir  bool // name is a directory
}

// op is what has happened.
type op int

const (
	created op = iota + 1
	modified
	removed
	moved   // the directory itself, away from its path
	dead    // it is watched no more, as it has been removed or unmounted
	mounted // somewhere a file system has been mounted, or is no more
	lost    // events have been missed
)

// inbox holds the events of a watch until they are taken. If there are too many it
// holds instead that some have been lost.
type inbox struct {
	news chan struct{} // holds a token if there may be events

	mu     sync.Mutex
	events []event
	lost   bool
}

func newInbox() *inbox { return &inbox{news: make(chan struct{}, 1)} }

// put adds an event. It never waits.
func (in *inbox) put(e event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := len(in.events)
	switch {
	case in.lost, n > 0 && in.events[n-1] == e:
		return
	case e.op == lost, n >= limits.WatchEvents:
		in.lost, in.events = true, nil
	default:
		in.events = append(in.events, e)
	}
	signal(in.news)
}

// take returns the events in their order, or that some have been lost.
func (in *inbox) take() (events []event, lost bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	events, lost = in.events, in.lost
	in.events, in.lost = nil, false
	return events, lost
}

// signal puts a token where there is none.
func signal(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}
