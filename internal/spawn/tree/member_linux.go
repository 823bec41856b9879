package tree

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Alive reports whether the process is alive. A zombie is not.
func (m Member) Alive() bool {
	p, alive, err := look(m.PID)
	return err == nil && alive && p.start == m.born
}

// Before reports whether the process was certainly started before a time, as
// [Clock] tells it.
func (m Member) Before(clock uint64) bool { return m.born < clock }

// Clock returns the time, for [Member.Before].
func Clock() uint64 { return ticks() }

// CanAsk tells whether Terminate does anything.
const CanAsk = true

// Terminate asks the process to end, also one that has been stopped.
func (m Member) Terminate() {
	m.send(unix.SIGTERM)
	if p, _, err := look(m.PID); err == nil && p.start == m.born && p.stopped {
		m.send(unix.SIGCONT)
	}
}

// Kill kills the process.
func (m Member) Kill() { m.send(unix.SIGKILL) }

func (m Member) send(sig unix.Signal) { process{pid: m.PID, start: m.born}.signal(sig) }

// Usage returns the processor time of the process and of those that it has
// waited for, and how many bytes of it are in memory. Of one that is dead it is
// zero.
func (m Member) Usage() (cpu time.Duration, memory uint64) {
	p, alive, err := look(m.PID)
	if err != nil || !alive || p.start != m.born {
		return 0, 0
	}
	return time.Duration(p.cpu) * (time.Second / ticksPerSecond), p.pages * uint64(unix.Getpagesize())
}

// verifiedMembers returns the processes that list names and that are alive. One
// whose number has become another's meanwhile is not among them: list is called
// again after they have been looked at.
func verifiedMembers(list func() ([]int, error)) (found []Member, complete bool) {
	pids, err := list()
	for _, pid := range pids {
		if p, alive, err := look(pid); err == nil && alive {
			found = append(found, Member{PID: pid, born: p.start})
		}
	}
	if len(found) == 0 || err != nil {
		return nil, err == nil
	}
	still, err := list()
	slices.Sort(still)
	return slices.DeleteFunc(found, func(m Member) bool {
		_, is := slices.BinarySearch(still, m.PID)
		return !is
	}), err == nil
}

// listBelow returns the processes in a control group and in those in it.
func listBelow(path string) ([]int, error) {
	pids, err := readMembers(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP) {
		err = nil // it has been removed, or those above it list who is in it
	}
	for _, sub := range subgroups(path) {
		below, subErr := listBelow(sub)
		pids, err = append(pids, below...), cmp.Or(err, subErr)
	}
	return pids, err
}

func (s *seat) members() ([]Member, bool) {
	return verifiedMembers(func() ([]int, error) { return listBelow(s.path) })
}

// members implements [method].
func (*cgroups) members(trees []*Tree) []Listing { return membersEach(trees) }

// members implements [method].
func (w *walk) members(trees []*Tree) []Listing {
	all := make([]Listing, len(trees))
	var quarries []*quarry
	var listings []*Listing // of the quarries
	for i, t := range trees {
		if t.place.empty() {
			all[i].Complete = true
			continue
		}
		listings = append(listings, &all[i])
		quarries = append(quarries, &quarry{
			target: t.place.(*walkPlace).target,
			list:   &all[i].Members,
		})
	}
	if len(quarries) == 0 {
		return all
	}
	_, err := track(w.marker(), quarries)
	for i, q := range quarries {
		listings[i].Complete = err == nil && (q.found > 0 || q.gone())
	}
	return all
}

// groupMembers returns the members of each of these process groups; 0 is none.
func groupMembers(groups []int) []Listing {
	all := make([]Listing, len(groups))
	places := make(map[int]int)
	for i, group := range groups {
		if group != 0 {
			places[group] = i
		}
	}
	if len(places) == 0 {
		return all
	}
	complete, err := scan(nil, func(p process) {
		if i, ok := places[p.group]; ok {
			all[i].Members = append(all[i].Members, Member{PID: p.pid, born: p.start})
		}
	})
	for i := range all {
		all[i].Complete = err == nil && complete
	}
	return all
}
