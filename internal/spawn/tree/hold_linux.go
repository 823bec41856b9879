package tree

import (
	"sync"

	"golang.org/x/sys/unix"
)

// held are ledgers that were opened while they had a name, by that.
var held struct {
	mu  sync.Mutex
	fds map[string]int // guarded by mu
}

// hold implements Hold.
func hold(m Means, path string) {
	if m != Walk {
		return
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	if _, known := held.fds[path]; known {
		return
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return // then it is looked for by its name
	}
	if held.fds == nil {
		held.fds = map[string]int{}
	}
	held.fds[path] = fd
}

// openHeld returns a descriptor of a ledger that is held, or the error with
// which it could not be opened by its name.
func openHeld(path string, missing error) (int, error) {
	held.mu.Lock()
	defer held.mu.Unlock()
	fd, known := held.fds[path]
	if !known {
		return -1, missing
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}
