package helper

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// maxReports is how many denials of one system call are told apart. Of more only the
// call is told, so that one that is often tried does not hide the others.
const maxReports = 8

// reportInterval is how often the same denial is reported.
const reportInterval = 20 * time.Millisecond

// reports sums up denials that are alike. Its methods may be called at any time.
type reports struct {
	// report tells of a denial, or reports false if there is no room: it is told
	// later then, with those that come meanwhile.
	report func(plan.Denial) bool

	mu      sync.Mutex
	apart   map[string]int               // how many are told apart, by the system call
	counts  map[plan.Denial]*reportCount // by a denial without a count
	behind  int                          // how many have something to tell
	flushed time.Time
}

type reportCount struct {
	unreported uint64
	last       time.Time
}

func newReports(report func(plan.Denial) bool) *reports {
	return &reports{report: report, apart: map[string]int{}, counts: map[plan.Denial]*reportCount{}}
}

// waiting tells whether there is something to flush.
func (r *reports) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.behind > 0
}

// add reports a denial, or counts it if it has just been reported.
func (r *reports) add(d plan.Denial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[d]
	if c == nil && r.apart[d.What] >= maxReports {
		d = plan.Denial{What: d.What}
		c = r.counts[d]
	}
	if c == nil {
		c = &reportCount{}
		r.counts[d] = c
		r.apart[d.What]++
	}
	if c.unreported == 0 {
		r.behind++
	}
	c.unreported++
	if time.Since(c.last) >= reportInterval {
		r.tell(d, c, r.report)
	}
}

// flush tells what has been counted, unless it has just done that.
func (r *reports) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.flushed) >= reportInterval {
		r.flushTo(r.report)
	}
}

// end tells what is left, by other means: they may wait until there is room.
func (r *reports) end(report func(plan.Denial) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushTo(report)
}

// flushTo is flush; the caller holds the lock.
func (r *reports) flushTo(report func(plan.Denial) bool) {
	if r.behind == 0 {
		return
	}
	for d, c := range r.counts {
		if c.unreported > 0 {
			r.tell(d, c, report)
		}
	}
	r.flushed = time.Now()
}

// tell tells of one denial; the caller holds the lock.
func (r *reports) tell(d plan.Denial, c *reportCount, report func(plan.Denial) bool) {
	d.Count, c.last = c.unreported, time.Now()
	if report(d) {
		c.unreported = 0
		r.behind--
	}
}

// describe says what a program was not let do. What it looks at may be someone
// else's by now; it is only told.
func describe(n *notification) plan.Denial {
	d := plan.Denial{What: callName(n.Number)}
	at, length := n.Args[1], n.Args[2]
	switch n.Number {
	case unix.SYS_SOCKET, unix.SYS_SOCKETPAIR:
		d.Address = familyName(uint64(uint32(n.Args[0])))
		return d
	case unix.SYS_SENDTO:
		at, length = n.Args[4], n.Args[5]
	case unix.SYS_CONNECT, unix.SYS_BIND:
	default:
		return d
	}
	if address, errno := n.address(at, length); errno == 0 {
		d.Path, d.Address = addressText(address)
	}
	return d
}
