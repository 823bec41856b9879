package tree

import (
	"runtime"
	"sync"
)

// SpareThreads makes so many threads that wait for work. The runtime makes one
// when all others are busy or wait for the system, and ends the program if there
// can be no more: so a command that uses up what threads and processes there may
// be would take along who is to kill it.
func SpareThreads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			// Each holds a thread of its own until there are as many.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	done.Wait()
}
