package watch

import (
	"cmp"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Budget is what the watches of all connections of an executor share: what the
// system tells of directories, how many are watched, and what may wait to be told. The zero value is ready.
// It holds nothing while no [Watches] that has been used is open.
type Budget struct {
	mu    sync.Mutex
	hub   *hub // nil while there are no users
	users int
	most  int // directories; 0 means as many as package limits says

	pending pending
}

// acquire returns the hub, which has one user more. release must follow.
func (b *Budget) acquire() (*hub, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hub == nil {
		h, err := newHub(cmp.Or(b.most, limits.WatchedDirectories))
		if err != nil {
			return nil, err
		}
		b.hub = h
	}
	b.users++
	return b.hub, nil
}

// release takes a user off, and closes the hub after the last one.
func (b *Budget) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users--; b.users == 0 {
		b.hub.close()
		b.hub = nil
	}
}
