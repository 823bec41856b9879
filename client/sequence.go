package client

import (
	"cmp"
	"math"
	"slices"

	"github.com/airlock-exec/airlock/protocol"
)

// sequence puts the events of one process in order, whatever order they come in
// and however often, and finds out what is missing. It knows neither locks nor
// connections.
type sequence struct {
	last  uint64 // up to here everything has been handed out
	early []item // what comes behind a hole, by number
	bytes int    // what early costs

	exited, closed bool // handed out
	gapped         bool // a gap was handed out
	// exitDue: the program has exited, as exit tells, but where is not known
	// yet.
	exitDue bool
	exit    Event
	// start is after which number the sequence begins: what came before, if
	// anything, is not known.
	start uint64
	// seen counts the bytes of each stream up to last, received or missed. It
	// lacks those before the start while uncounted is set.
	seen      map[protocol.Stream]uint64
	uncounted bool
}

func newSequence(after uint64) *sequence {
	return &sequence{
		last: after, start: after, uncounted: after > 0,
		seen: map[protocol.Stream]uint64{},
	}
}

// add takes an event in. It reports false for one that is known.
func (s *sequence) add(i item) bool {
	if i.Kind == Closed && s.has(Closed) {
		return false
	}
	if i.last <= s.last && i.first <= i.last {
		if i.Kind != Exited || s.has(Exited) {
			return false
		}
		// Its place has been taken for a gap.
		i.first, i.last = s.last+1, s.last
	}
	at, _ := slices.BinarySearchFunc(s.early, i.last, func(e item, n uint64) int { return cmp.Compare(e.last, n) })
	for at < len(s.early) && s.early[at].last == i.last && i.first > i.last {
		at++ // behind the one with the number before
	}
	if at < len(s.early) && s.early[at].first <= i.first && i.first <= i.last {
		if i.Kind != Exited || s.has(Exited) {
			return false
		}
		i.first, i.last = s.early[at].last+1, s.early[at].last
		at++
	}
	s.early = slices.Insert(s.early, at, i)
	s.bytes += i.cost()
	return true
}

// has tells whether an event of a kind that comes once, or a gap, is there or has
// been.
func (s *sequence) has(kind EventKind) bool {
	if kind == Exited && s.exited || kind == Closed && s.closed || kind == Gap && s.gapped {
		return true
	}
	// It is most likely at the end.
	for _, e := range slices.Backward(s.early) {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

// direct hands out an event that is the next one while nothing waits. It is a
// short cut for add and next.
func (s *sequence) direct(i *item) bool {
	if len(s.early) > 0 || i.first != s.last+1 || i.Kind == Exited && s.exited || i.Kind == Closed && s.exitDue {
		return false
	}
	s.pass(i)
	return true
}

// next hands out the next event, if it is there.
func (s *sequence) next() (item, bool) {
	for len(s.early) > 0 && s.early[0].first == s.last+1 {
		if s.early[0].Kind == Closed && s.exitDue {
			exit := s.exit
			exit.Seq = s.last
			s.exited, s.exitDue = true, false
			return item{Event: exit}, true
		}
		i := s.discard()
		known := i.Kind == Exited && s.exited
		s.pass(&i)
		if !known {
			return i, true
		}
	}
	return item{}, false
}

// pass notes that an event is handed out.
func (s *sequence) pass(i *item) {
	s.last = i.last
	switch i.Kind {
	case Output:
		s.seen[i.Stream] += uint64(len(i.Data))
	case Exited:
		s.exited, s.exitDue = true, false
	case Closed:
		s.closed = true
	case Gap:
		s.gapped = true
		s.count(i)
	}
}

// count finds out how many bytes are gone with a gap.
func (s *sequence) count(gap *item) {
	if gap.dropped == nil {
		return
	}
	missed := map[protocol.Stream]uint64{}
	for stream, n := range gap.dropped {
		if n > s.seen[stream] {
			missed[stream] = n - s.seen[stream]
		}
		s.seen[stream] = max(n, s.seen[stream])
	}
	if !s.uncounted {
		gap.Missed = missed
	}
	s.uncounted = false
}

// discard takes the oldest early event away and returns it.
func (s *sequence) discard() item {
	i := s.early[0]
	s.early[0] = item{}
	s.early = s.early[1:]
	s.bytes -= i.cost()
	return i
}

// unknown asks a read for a process's state alone: no number comes after it.
const unknown = math.MaxInt64
