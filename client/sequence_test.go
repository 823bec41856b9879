package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// script writes down what a sequence hands out: o3 is output, x exited, c
// closed, g2-4 a gap (with the bytes missed of each stream, if known), each with
// its number.
func script(s *sequence) string {
	var all []string
	for i, ok := s.next(); ok; i, ok = s.next() {
		all = append(all, describe(i.Event))
	}
	return strings.Join(all, " ")
}

func describe(e Event) string {
	switch e.Kind {
	case Exited:
		return fmt.Sprintf("x%d", e.Seq)
	case Closed:
		return fmt.Sprintf("c%d", e.Seq)
	case Gap:
		text := fmt.Sprintf("g%d-%d", e.FirstSeq, e.Seq)
		for _, stream := range []protocol.Stream{protocol.StreamStdout, protocol.StreamStderr} {
			if n := e.Missed[stream]; n > 0 {
				text += fmt.Sprintf(":%s=%d", stream, n)
			}
		}
		return text
	default:
		return fmt.Sprintf("o%d", e.Seq)
	}
}

func chunks(numbers ...uint64) []protocol.Chunk {
	var all []protocol.Chunk
	for _, n := range numbers {
		all = append(all, protocol.Chunk{Seq: n, Stream: protocol.StreamStdout, Chunk: []byte("12")})
	}
	return all
}

// TestReadResults: what a read result says without saying it.
func TestReadResults(t *testing.T) {
	told := func(first, stdout uint64) *protocol.ReadExtra {
		return &protocol.ReadExtra{
			FirstSeq: first, DroppedBytes: map[protocol.Stream]uint64{protocol.StreamStdout: stdout},
		}
	}
	for _, test := range []struct {
		name       string
		had        []uint64 // output that was handed out before, two bytes each
		after      uint64   // where the sequence begins
		result     protocol.ReadResult
		incomplete bool
		want       string
	}{
		{name: "nothing", result: protocol.ReadResult{NextSeq: 1}},
		{name: "output", result: protocol.ReadResult{Chunks: chunks(1, 2), NextSeq: 3}, want: "o1 o2"},
		{
			name: "known output", had: []uint64{1, 2},
			result: protocol.ReadResult{Chunks: chunks(1, 2, 3), NextSeq: 4}, want: "o3",
		},
		{
			name: "the exit behind", result: protocol.ReadResult{Chunks: chunks(1), NextSeq: 3, Exited: true},
			want: "o1 x2",
		},
		{
			name:   "exit and close behind",
			result: protocol.ReadResult{Chunks: chunks(1), NextSeq: 4, Exited: true, Closed: true},
			want:   "o1 x2 c3",
		},
		{
			name:   "the exit between",
			result: protocol.ReadResult{Chunks: chunks(1, 3), NextSeq: 5, Exited: true, Closed: true},
			want:   "o1 x2 o3 c4",
		},
		{
			name: "the exit between, not all read", incomplete: true,
			result: protocol.ReadResult{Chunks: chunks(1, 3), NextSeq: 4, Exited: true, Closed: true},
			want:   "o1 x2 o3",
		},
		{
			name: "the exit first", had: []uint64{1},
			result: protocol.ReadResult{Chunks: chunks(3), NextSeq: 4, Exited: true}, want: "x2 o3",
		},
		{
			name: "exit and close only", had: []uint64{1},
			result: protocol.ReadResult{NextSeq: 4, Exited: true, Closed: true}, want: "x2 c3",
		},
		{
			name:   "a silent gap",
			result: protocol.ReadResult{Chunks: chunks(5), NextSeq: 6}, want: "g1-4 o5",
		},
		{
			name:   "a silent gap and the exit behind",
			result: protocol.ReadResult{Chunks: chunks(2), NextSeq: 4, Exited: true}, want: "g1-1 o2 x3",
		},
		{
			name:   "a silent gap and the exit between",
			result: protocol.ReadResult{Chunks: chunks(4, 6), NextSeq: 7, Exited: true}, want: "g1-3 o4 x5 o6",
		},
		{
			name:   "the exit in a silent gap",
			result: protocol.ReadResult{Chunks: chunks(4), NextSeq: 6, Exited: true, Closed: true},
			want:   "g1-2 x3 o4 c5",
		},
		{
			name: "a gap told", had: []uint64{1},
			result: protocol.ReadResult{Chunks: chunks(4), NextSeq: 5, Airlock: told(4, 6)},
			want:   "g2-3:stdout=4 o4",
		},
		{
			name:   "a gap of one told, the exit behind",
			result: protocol.ReadResult{Chunks: chunks(2), NextSeq: 4, Exited: true, Airlock: told(2, 2)},
			want:   "g1-1:stdout=2 o2 x3",
		},
		{
			name: "a gap told, the exit somewhere", incomplete: true,
			result: protocol.ReadResult{Chunks: chunks(4), NextSeq: 5, Exited: true, Airlock: told(4, 4)},
			want:   "g1-3:stdout=4 o4",
		},
		{
			name:   "all dropped",
			result: protocol.ReadResult{NextSeq: 5, Exited: true, Closed: true, Airlock: told(5, 4)},
			want:   "g1-2:stdout=4 x3 c4",
		},
		{
			name: "begun in the middle", after: 7,
			result: protocol.ReadResult{Chunks: chunks(8), NextSeq: 10, Exited: true, Closed: true},
			want:   "o8 c9",
		},
		{
			name: "begun in the middle, a gap", after: 7,
			result: protocol.ReadResult{Chunks: chunks(10), NextSeq: 11, Airlock: told(10, 20)},
			want:   "g8-9 o10",
		},
		{
			name: "begun at the end", after: 7,
			result: protocol.ReadResult{NextSeq: 8, Exited: true, Closed: true},
		},
		{
			name: "begun behind the end", after: 99,
			result: protocol.ReadResult{NextSeq: 8, Exited: true, Closed: true},
		},
		{
			name: "the exit was told, and comes again", had: []uint64{1},
			result: protocol.ReadResult{NextSeq: 3, Exited: true}, want: "x2",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSequence(test.after)
			for _, n := range test.had {
				s.add(numbered(Event{Seq: n, Stream: protocol.StreamStdout, Data: []byte("12")}, nil))
				s.next()
			}
			s.read(&test.result, !test.incomplete)
			if got := script(s); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			s.read(&test.result, !test.incomplete)
			if got := script(s); got != "" {
				t.Errorf("once more: %s", got)
			}
			if test.result.Closed && !test.incomplete && !s.closed {
				t.Error("not closed")
			}
		})
	}
}
