//go:build unix

package spawn

import (
	"os"
	"strconv"
	"sync"
	"syscall"
)

// prepare makes sure, once, that children inherit nothing from whoever has
// started this program.
var prepare = sync.OnceFunc(func() {
	closeOnExec()
	catchIgnored()
	// The runtime ends the program if it can't set up its poller. Have it done
	// before descriptors can be short.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
})

// closeEachOnExec marks every open descriptor above the standard streams.
func closeEachOnExec() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
