package client

import "sync"

const (
	// windowBytes is how much output of a process an executor may send ahead of
	// what has been taken, and how much waits before the connection is held
	// back if it can't be told.
	windowBytes = 1 << 20
	// grantBytes is how much is granted at a time.
	grantBytes = windowBytes / 2
)

// grants are what a connection still has to tell its executor about output that
// has been taken.
type grants struct {
	work chan struct{} // has a token while there are some

	mu  sync.Mutex
	due map[string]uint64 // by process
	// strangers is what has come of processes that nobody here knows, and is
	// not due yet.
	strangers map[string]uint64
}

func newGrants() *grants {
	return &grants{work: make(chan struct{}, 1), due: map[string]uint64{}, strangers: map[string]uint64{}}
}

// add grants bytes. It does not wait.
func (g *grants) add(id string, bytes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.addLocked(id, bytes)
}

func (g *grants) addLocked(id string, bytes uint64) {
	g.due[id] += bytes
	select {
	case g.work <- struct{}{}:
	default: // the token is there
	}
}

// pass grants what came of a process that nobody here knows.
func (g *grants) pass(id string, e *Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case e.Kind == Closed:
		delete(g.strangers, id)
	case len(e.Data) == 0:
	default:
		g.strangers[id] += uint64(len(e.Data))
		if g.strangers[id] >= grantBytes {
			g.addLocked(id, g.strangers[id])
			delete(g.strangers, id)
		}
	}
}

// take returns what is due.
func (g *grants) take() map[string]uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.due
	g.due = map[string]uint64{}
	return due
}

// window counts what has been taken of what came over the newest connection.
type window struct {
	link *link
	// taken is to be granted when it is enough; dropped will be, once it has
	// been read.
	taken, dropped uint64
}

// grant counts an event that holds no room any more.
func (b *inbox) grant(i *item) {
	if i.from != nil && i.from == b.window.link {
		b.window.taken += uint64(len(i.Data))
		b.grantEnough()
	}
}

func (b *inbox) grantEnough() {
	w := &b.window
	if w.taken >= grantBytes && !w.link.mayWait.Load() && !b.order.closed {
		w.link.grants.add(b.id, w.taken)
		w.taken = 0
	}
}
