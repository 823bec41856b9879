package confined

import (
	"sync"

	"golang.org/x/sys/unix"
)

// eras counts how often what is mounted on the host has changed: what is mounted
// later is not there for who has made a root before. The zero value is ready.
type eras struct {
	mu sync.Mutex
	// table is /proc/self/mountinfo, if it is open. It is a bare descriptor, as a
	// change is told once, and the runtime would be the one to hear of it.
	table int    // guarded by mu
	open  bool   // guarded by mu
	over  bool   // guarded by mu; it is not opened any more
	era   uint64 // guarded by mu
}

// now returns the number of the era. Where the system does not tell of changes each
// call begins one.
func (e *eras) now() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open && !e.over {
		// What happens before does not matter: nothing is older.
		fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		e.table, e.open = fd, err == nil
		e.era++
		return e.era
	}
	if e.over {
		e.era++
		return e.era
	}
	poll := []unix.PollFd{{Fd: int32(e.table), Events: unix.POLLPRI}}
	for {
		n, err := unix.Poll(poll, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n > 0 {
			e.era++
		}
		return e.era
	}
}

// close gives up what is open.
func (e *eras) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open {
		unix.Close(e.table)
	}
	e.open, e.over = false, true
}
