package client

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

// TestExitInAGap: an exit whose place is lost is told as soon as it can be in
// none of the places that are left, and once.
func TestExitInAGap(t *testing.T) {
	s := newSequence(0)
	s.told(20, &protocol.EventExtra{
		FirstSeq: 20, DroppedBytes: map[protocol.Stream]uint64{protocol.StreamStdout: 36},
	})
	s.add(numbered(Event{Kind: Output, Seq: 20, Stream: protocol.StreamStdout, Data: []byte("12")}, nil))
	if got, want := script(s), "g1-19:stdout=36 o20"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.read(&protocol.ReadResult{NextSeq: 22, Exited: true, Closed: true}, true)
	if got, want := script(s), "x20 c21"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	s = newSequence(0)
	s.read(&protocol.ReadResult{Chunks: chunks(9), NextSeq: 10}, true)
	if got, want := script(s), "g1-8 o9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.add(numbered(Event{Kind: Exited, Seq: 5}, nil))
	s.add(numbered(Event{Kind: Exited, Seq: 5}, nil))
	if got, want := script(s), "x5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestExitBeforeTheClose: an exit without a place comes before the close at the
// latest.
func TestExitBeforeTheClose(t *testing.T) {
	s := newSequence(0)
	s.read(&protocol.ReadResult{
		Chunks: chunks(4), NextSeq: 5, Exited: true, ExitCode: new(int32(3)),
		Airlock: &protocol.ReadExtra{FirstSeq: 4, DroppedBytes: map[protocol.Stream]uint64{protocol.StreamStdout: 4}},
	}, false)
	if got, want := script(s), "g1-3:stdout=4 o4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	closed := numbered(Event{Kind: Closed, Seq: 5}, nil)
	if s.direct(&closed) {
		t.Error("the close comes first")
	}
	s.add(closed)
	if got, want := script(s), "x4 c5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnyOrder: whatever order events come in, and however often, they are
// handed out in the order of their numbers, once.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const count = 20
		var numbers []uint64
		want := ""
		for n := range uint64(count) {
			numbers = append(numbers, n+1)
			want += fmt.Sprintf(" o%d", n+1)
		}
		order := append(rapid.Permutation(numbers).Draw(t, "order"), rapid.Permutation(numbers).Draw(t, "again")...)
		s := newSequence(0)
		got := ""
		for _, n := range order {
			i := numbered(Event{Seq: n}, nil)
			if s.direct(&i) {
				got += " " + describe(i.Event)
			} else {
				s.add(i)
			}
			if some := script(s); some != "" {
				got += " " + some
			}
		}
		if got != want {
			t.Fatalf("got %s", got)
		}
		if len(s.early) != 0 || s.bytes != 0 {
			t.Fatalf("%d events left, of cost %d", len(s.early), s.bytes)
		}
	})
}
