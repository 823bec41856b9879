package client

import (
	"maps"

	"github.com/airlock-exec/airlock/protocol"
)

// span is a run of numbers.
type span struct{ first, last uint64 }

// holes returns the numbers up to a bound that are not there.
func (s *sequence) holes(upTo uint64) []span {
	var holes []span
	next := s.last + 1
	for i := range s.early {
		e := &s.early[i]
		if e.first > upTo {
			break
		}
		if e.first > next {
			holes = append(holes, span{next, e.first - 1})
		}
		next = max(next, e.last+1)
	}
	if next <= upTo {
		holes = append(holes, span{next, upTo})
	}
	return holes
}

// lose makes gaps of holes. Of those that begin before firstSeq it is known
// that dropped counts the bytes up to there.
func (s *sequence) lose(holes []span, firstSeq uint64, dropped map[protocol.Stream]uint64) {
	for n, hole := range holes {
		gap := item{
			Event: Event{Kind: Gap, FirstSeq: hole.first, Seq: hole.last},
			first: hole.first, last: hole.last,
		}
		if hole.first < firstSeq && (n == len(holes)-1 || holes[n+1].first >= firstSeq) {
			gap.dropped = s.without(dropped, hole.last, firstSeq)
		}
		s.add(gap)
	}
}

// without subtracts from counts of bytes what has come early with numbers
// between two others.
func (s *sequence) without(counts map[protocol.Stream]uint64, after, before uint64) map[protocol.Stream]uint64 {
	if counts == nil {
		return nil
	}
	counts = maps.Clone(counts)
	for i := range s.early {
		if e := &s.early[i]; e.Kind == Output && e.first > after && e.last < before {
			counts[e.Stream] -= min(counts[e.Stream], uint64(len(e.Data)))
		}
	}
	return counts
}

// told takes in what a notification tells of events dropped before it.
func (s *sequence) told(seq uint64, extra *protocol.EventExtra) {
	if upTo := min(seq, extra.FirstSeq); upTo > 0 {
		s.lose(s.holes(upTo-1), extra.FirstSeq, extra.DroppedBytes)
	}
}

// read takes in what was read after a number up to which everything has been
// handed out. A complete result covers all that had happened.
func (s *sequence) read(r *protocol.ReadResult, complete bool) {
	for _, c := range r.Chunks {
		s.add(numbered(Event{Kind: Output, Seq: c.Seq, Stream: c.Stream, Data: c.Chunk}, nil))
	}
	covered := r.NextSeq - min(1, r.NextSeq)
	if r.Closed && complete && !s.has(Closed) {
		s.placeClose(covered, r)
	}
	holes := s.holes(covered)
	var firstSeq uint64
	var dropped map[protocol.Stream]uint64
	if r.Airlock != nil {
		firstSeq, dropped = r.Airlock.FirstSeq, r.Airlock.DroppedBytes
	}
	if r.Exited && !s.has(Exited) {
		holes = s.placeExit(holes, r, firstSeq, complete)
	}
	s.lose(holes, firstSeq, dropped)
}

// placeClose tells of the close, which has the highest number.
func (s *sequence) placeClose(highest uint64, r *protocol.ReadResult) {
	if highest <= s.last && s.last == s.start && s.start > 0 {
		s.closed = true // before the sequence began
		return
	}
	end := Event{Kind: Closed, Seq: max(highest, s.last)}
	if r.Airlock != nil {
		end.Reason = r.Airlock.CloseReason
	}
	s.add(item{Event: end, first: max(highest, s.last+1), last: end.Seq})
}

// placeExit finds the place of an exit that has not been told: the last hole,
// as what is dropped is the oldest. It returns the holes that are left.
func (s *sequence) placeExit(holes []span, r *protocol.ReadResult, firstSeq uint64, complete bool) []span {
	exit := Event{Kind: Exited, ExitCode: -1, SandboxDenied: r.SandboxDenied}
	if a := r.Airlock; a != nil {
		exit.Reason, exit.Denials, exit.SetupError = a.Reason, a.Denials, a.SetupError
	}
	if r.ExitCode != nil {
		exit.ExitCode = int(*r.ExitCode)
	}
	s.exit, s.exitDue = exit, true
	if n := len(holes); n > 0 {
		hole := &holes[n-1]
		switch dropped := hole.first < firstSeq; {
		case dropped && !complete:
			return holes // it may come later
		case dropped && hole.first == hole.last:
			// That number was output.
		default:
			exit.Seq = hole.last
			s.exitDue = false
			s.add(numbered(exit, nil))
			if hole.last--; hole.last < hole.first {
				holes = holes[:n-1]
			}
			return holes
		}
	}
	switch {
	case !complete:
	case s.start > 0 && !s.has(Gap) && len(holes) == 0:
		s.exited, s.exitDue = true, false // before the sequence began
	default:
		// It is in a gap. Told as soon as all else has been.
		at := r.NextSeq
		if r.Closed && at > 0 {
			at--
		}
		at = max(at, s.last+1)
		exit.Seq = at - 1
		s.add(item{Event: exit, first: at, last: at - 1})
		s.exitDue = false
	}
	return holes
}
