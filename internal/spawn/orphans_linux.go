package spawn

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// orphans reaps the processes that this program has become the parent of,
// because their own parents have died: it is the first process of a container,
// or the kernel has been asked for it. Other children have somebody who waits
// for them, here or elsewhere in the program, and are left alone.
type orphans struct {
	wakeup chan os.Signal // SIGCHLD; nil unless started
	stop   chan struct{}
	ending sync.Once
	done   sync.WaitGroup

	mu     sync.Mutex
	ours   map[int]struct{}    // guarded by mu; children of the Spawner that have not been reaped
	forks  map[uint64]struct{} // guarded by mu; numbers of the forks in progress
	forked uint64              // guarded by mu; the number of the next one
}

// reapPause is the least time between two looks. A dead child that is there in
// two looks has nobody who waits for it.
const reapPause = time.Second

// start begins to reap. It is called before the first fork.
func (o *orphans) start() {
	o.ours = make(map[int]struct{})
	o.forks = make(map[uint64]struct{})
	o.stop = make(chan struct{})
	o.wakeup = make(chan os.Signal, 1)
	signal.Notify(o.wakeup, syscall.SIGCHLD)
	o.done.Go(o.run)
}

// close ends it. There must be no fork in progress.
func (o *orphans) close() {
	if o.wakeup == nil {
		return
	}
	signal.Stop(o.wakeup)
	o.ending.Do(func() { close(o.stop) })
	o.done.Wait()
}

// forking tells of a fork that is about to happen. The function that it returns
// tells of its end: the child has a process id if it has succeeded.
func (o *orphans) forking() (done func(c *child)) {
	if o.wakeup == nil {
		return func(*child) {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	fork := o.forked
	o.forked++
	o.forks[fork] = struct{}{}
	return func(c *child) {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.forks, fork)
		if c.pid != 0 {
			o.ours[c.pid] = struct{}{}
			c.orphans = o
		}
	}
}

// reaped tells that a child of the Spawner has been reaped. o may be nil.
func (o *orphans) reaped(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ours, pid)
}

// stray is a dead child that may be an orphan.
type stray struct {
	start string // when it was started, as /proc has it
	fork  uint64 // the first fork that was begun after it had been seen
}

func (o *orphans) run() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	seen := map[int]stray{}
	for {
		if len(seen) == 0 {
			select {
			case <-o.wakeup:
			case <-o.stop:
				return
			}
		}
		select {
		case <-pause.C:
		case <-o.stop:
			return
		}
		seen = o.look(seen)
		pause.Reset(reapPause)
	}
}

// look reaps the dead children that have been seen before, and returns those
// that it sees for the first time.
func (o *orphans) look(before map[int]stray) map[int]stray {
	seen := map[int]stray{}
	for _, pid := range children() {
		start, dead := o.inspect(pid)
		if !dead {
			continue
		}
		s, known := before[pid]
		if known && s.start == start && o.isOrphan(pid, s) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			continue
		}
		if !known || s.start != start {
			o.mu.Lock()
			s = stray{start: start, fork: o.forked}
			o.mu.Unlock()
		}
		seen[pid] = s
	}
	return seen
}

// inspect tells whether a child is dead and none of the Spawner's, and when it
// was started.
func (o *orphans) inspect(pid int) (start string, dead bool) {
	o.mu.Lock()
	_, ours := o.ours[pid]
	o.mu.Unlock()
	if ours {
		return "", false
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return "", false
	}
	f := statFields(pid)
	const started = 19
	if len(f) <= started {
		return "", false
	}
	return f[started], true
}

// isOrphan tells whether a dead child that has been seen for some time can't be
// one of the Spawner's: every fork that was in progress at the time has ended
// since, and would have made it known.
func (o *orphans) isOrphan(pid int, s stray) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for fork := range o.forks {
		if fork < s.fork {
			return false
		}
	}
	_, ours := o.ours[pid]
	return !ours
}

// children returns the children of this program.
func children() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if len(lists) > 0 {
		return pids
	}
	// The kernel has been built without these files.
	self := strconv.Itoa(os.Getpid())
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if f := statFields(pid); len(f) > 1 && f[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statFields returns the fields of /proc/PID/stat after the name: the state, the
// parent and so on.
func statFields(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}
