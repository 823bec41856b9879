//go:build unix

package spawn

import (
	"runtime"
	"sync"
)

// threads are operating-system threads that live as long as the Spawner.
// Children are forked from them because the kernel counts the parent-death
// signal by thread: a child whose forking thread ends is told that its parent
// has died. Threads do end, each time a goroutine returns that has locked one
// to change it for good. A thread of our own also has a signal mask of our own.
type threads struct {
	jobs chan func()
	done sync.WaitGroup
	stop func() // ends them, once

	mu sync.Mutex
	n  int // guarded by mu; at most max(4, NumCPU)
}

func (t *threads) open() {
	t.jobs = make(chan func())
	t.stop = sync.OnceFunc(func() { close(t.jobs) })
}

// close ends the threads. There must be no do in progress.
func (t *threads) close() {
	t.stop()
	t.done.Wait()
}

// do runs job on one of the threads and waits for it.
func (t *threads) do(job func()) {
	finished := make(chan struct{})
	call := func() {
		job()
		close(finished)
	}
	select {
	case t.jobs <- call:
	default: // none is idle
		t.grow()
		t.jobs <- call
	}
	<-finished
}

func (t *threads) grow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n >= max(4, runtime.NumCPU()) {
		return
	}
	t.n++
	t.done.Go(t.work)
}

func (t *threads) work() {
	// Never unlocked, so that the thread ends with this function.
	runtime.LockOSThread()
	unblockSignals()
	for job := range t.jobs {
		job()
	}
}
