package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/protocol"
)

// TestObservationCost: an observer waits for what it has read, for longer if it
// misses output all the same, and not at all once the process has closed.
func TestObservationCost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		result protocol.ReadResult
		want   time.Duration
	}{
		"nothing": {protocol.ReadResult{}, 0},
		"output":  {protocol.ReadResult{Chunks: []protocol.Chunk{{Chunk: make([]byte, 60<<10)}, {Chunk: make([]byte, 4<<10)}}}, cost(64 << 10)},
		"a gap": {protocol.ReadResult{
			Chunks: []protocol.Chunk{{Chunk: make([]byte, 64<<10)}}, Airlock: &protocol.ReadExtra{FirstSeq: 7},
		}, limits.OutrunFactor * cost(64<<10)},
		"a reason": {protocol.ReadResult{
			Chunks: []protocol.Chunk{{Chunk: make([]byte, 64<<10)}}, Exited: true, Airlock: &protocol.ReadExtra{Reason: "idle"},
		}, cost(64 << 10)},
		"closed": {protocol.ReadResult{Chunks: []protocol.Chunk{{Chunk: make([]byte, 64<<10)}}, Closed: true}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var p pace
			p.take()
			o := &observation{pace: &p}
			o.reply(process.Reading{Result: &test.result}, nil)
			if got := p.take(); got != test.want {
				t.Errorf("%s: the next one waits %v, want %v", name, got, test.want)
			}
		})
	}
}

// TestLongClientName: what a client calls itself is kept as far as it is short, and
// is text.
func TestLongClientName(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	w := dial(t, s)
	m := w.call("initialize", `{"clientName":"x`+strings.Repeat("\u20ac", 1000)+`"}`)
	if m.Error != nil {
		t.Fatal(m.text)
	}
	want := "x" + strings.Repeat("\u20ac", (limits.ClientNameBytes-1)/3)
	list := s.sessions.List()
	if len(list) != 1 || list[0].ClientName != want {
		t.Errorf("got %+v, want %q", list, want)
	}
}
