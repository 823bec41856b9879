package tree

import (
	"sync"

	"golang.org/x/sys/unix"
)

// subreapers counts the keepers for which this program is the parent of its
// orphaned descendants.
var subreapers struct {
	mu    sync.Mutex
	count int // guarded by mu
}

func becomeSubreaper() bool {
	subreapers.mu.Lock()
	defer subreapers.mu.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return false
	}
	subreapers.count++
	return true
}

func resignSubreaper() {
	subreapers.mu.Lock()
	defer subreapers.mu.Unlock()
	if subreapers.count--; subreapers.count == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}
