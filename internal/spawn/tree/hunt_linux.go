package tree

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// target is by what the members of a tree are told from other processes.
type target struct {
	mark   uint32 // 0 if there is none
	leader int    // 0 if it is not known
	from   uint64 // between these ticks the leader was started
	to     uint64
	// reaped is no later than when the leader's number may have become
	// another's. Who has been started before and is in the session or group of
	// that number is a member; who has been started later may be in another
	// one.
	reaped uint64
}

// never is the value of target.reaped while the leader has not been reaped.
const never = math.MaxUint64

// marked tells whether a process carries the mark.
func (t *target) marked(p process) bool {
	return t.mark != 0 && p.mark == t.mark && p.start >= t.from
}

// led tells whether a process is the leader, or in its session or group.
func (t *target) led(p process) bool {
	switch {
	case t.leader == 0 || p.start < t.from:
		return false
	case p.pid == t.leader:
		return p.start <= t.to
	}
	return (p.session == t.leader || p.group == t.leader) && p.start <= t.reaped
}

// quarry is a tree that is looked for.
type quarry struct {
	target func() target // as it is now
	kill   bool          // whether to kill its members
	found  int           // how many there were, in the last scan
	clear  int           // how many scans in a row have found none
	// list, if it is not nil, is where members are listed.
	list *[]Member
	// stopped are members that have been stopped, by number.
	stopped map[int]process
}

// Members are stopped as they are found, and killed when a scan finds no others:
// one that is stopped neither starts others nor leaves them without a parent
// that shows whose they are.

// stop stops a member, and reports whether that is new.
func (q *quarry) stop(p process) bool {
	if old, ok := q.stopped[p.pid]; ok && old.start == p.start {
		return false
	}
	if q.stopped == nil {
		q.stopped = map[int]process{}
	}
	q.stopped[p.pid] = p
	p.signal(unix.SIGSTOP)
	return true
}

func (q *quarry) killStopped() {
	for _, p := range q.stopped {
		p.signal(unix.SIGKILL)
	}
}

// clearScans is how many scans in a row have to find no member if they may have
// missed some. Of complete ones a single one is enough.
const clearScans = 3

// gone tells whether it is known that there is no member.
func (q *quarry) gone() bool { return q.clear >= clearScans }

// track finds the members of all these trees in one scan. It reports whether
// there were any that had not been stopped before.
func track(m *marker, quarries []*quarry) (fresh bool, err error) {
	byMark := make(map[uint32]*quarry, len(quarries))
	known := make(map[int]*quarry) // by process id
	news := make(map[*quarry]bool)
	for _, q := range quarries {
		q.found = 0
		if t := q.target(); t.mark != 0 {
			byMark[t.mark] = q
		}
		for pid := range q.stopped {
			known[pid] = q
		}
	}
	var all []process
	owner := make(map[int]*quarry) // by process id
	catch := func(p process, q *quarry) {
		owner[p.pid] = q
		q.found++
		if q.list != nil {
			*q.list = append(*q.list, Member{PID: p.pid, born: p.start})
		}
		if q.kill && q.stop(p) {
			news[q] = true
		}
	}
	complete, err := scan(m, func(p process) {
		// Stopped as it is found, it has the least time to get away.
		if q := byMark[p.mark]; q != nil {
			if t := q.target(); t.marked(p) {
				catch(p, q)
				return
			}
		}
		// One that takes its time to die may have lost its parent already.
		if q := known[p.pid]; q != nil && q.stopped[p.pid].start == p.start {
			catch(p, q)
			return
		}
		all = append(all, p)
	})
	if err != nil {
		return false, err
	}
	attribute(all, owner, quarries, catch)
	for _, q := range quarries {
		switch {
		case q.found == 0 && complete:
			q.clear = clearScans
		case q.found == 0:
			q.clear++
		default:
			q.clear = 0
		}
		if q.kill && !news[q] {
			q.killStopped()
		}
	}
	return len(news) > 0, nil
}

// attribute finds the members without a mark: by descent, session and group. The
// owners of those that have been caught are known.
func attribute(all []process, owner map[int]*quarry, quarries []*quarry, catch func(process, *quarry)) {
	// What is said of leaders now, after the scan, holds for all of it.
	targets := make(map[int]target, len(quarries))
	leaders := make(map[int]*quarry, len(quarries))
	for _, q := range quarries {
		if t := q.target(); t.leader != 0 {
			targets[t.leader], leaders[t.leader] = t, q
		}
	}
	for again := true; again; {
		again = false
		rest := all[:0]
		for _, p := range all {
			q := owner[p.parent]
			for _, leader := range []int{p.pid, p.session, p.group} {
				if t := targets[leader]; q == nil && t.led(p) {
					q = leaders[leader]
				}
			}
			if q == nil {
				rest = append(rest, p)
				continue
			}
			catch(p, q)
			again = true
		}
		all = rest
	}
}

// settle scans until it is known of each tree that it has members or none. It
// gives up at the deadline; then some may be neither found nor gone.
func settle(m *marker, quarries []*quarry, deadline time.Time) {
	p := pauses{deadline: deadline}
	for {
		unknown := false
		if _, err := track(m, quarries); err != nil {
			unknown = p.next()
		}
		for _, q := range quarries {
			unknown = unknown || q.found == 0 && !q.gone()
		}
		if !unknown || !time.Now().Before(deadline) {
			return
		}
	}
}

// fell kills trees until each is known to be gone, or until the deadline.
func fell(m *marker, quarries []*quarry, deadline time.Time) {
	p := pauses{deadline: deadline}
	for time.Now().Before(deadline) {
		rest := remaining(quarries)
		if len(rest) == 0 {
			return
		}
		if fresh, _ := track(m, rest); fresh {
			p.pause = 0 // look for what they have started meanwhile
		} else if len(remaining(rest)) > 0 {
			p.next() // they take their time to die
		}
	}
	for _, q := range remaining(quarries) {
		q.killStopped()
	}
}

// remaining returns those that are not known to be gone.
func remaining(quarries []*quarry) []*quarry {
	rest := make([]*quarry, 0, len(quarries))
	for _, q := range quarries {
		if !q.gone() {
			rest = append(rest, q)
		}
	}
	return rest
}
