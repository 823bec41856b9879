package process

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// spilling is a rig whose processes keep what leaves memory.
func spilling(t *testing.T) *rig {
	r := newRig(t)
	r.table.config.Log.Spill = outlog.NewSpill(t.TempDir(), 64<<20, 0, func(err error) { t.Error(err) })
	return r
}

// returning is a client that comes back, and takes events as the Codex agent does:
// in order, keeping only so many that are ahead.
type returning struct {
	*testing.T
	last   uint64
	bytes  int
	ahead  map[uint64]Event
	exited bool
	closed bool
}

// is takes an event that it is told.
func (c *returning) is(told Event) {
	c.Helper()
	if told.Seq > c.last {
		c.ahead[told.Seq] = told
	}
	if len(c.ahead) > 256 {
		c.Fatalf("too many events ahead of %d", c.last)
	}
	for {
		e, ok := c.ahead[c.last+1]
		if !ok {
			return
		}
		delete(c.ahead, e.Seq)
		c.last = e.Seq
		c.bytes += len(e.Data)
		c.exited = c.exited || e.Kind == EventExited
		c.closed = c.closed || e.Kind == EventClosed
	}
}

// has takes the answer to its read.
func (c *returning) has(result *protocol.ReadResult) {
	c.Helper()
	for _, chunk := range result.Chunks {
		c.is(Event{Seq: chunk.Seq, Data: chunk.Chunk})
	}
	if result.Closed {
		c.Fatalf("closed is told with an answer up to %d", result.NextSeq)
	}
}

// TestCatchUp: a client that comes back, reads once what it has missed and takes
// the rest as it is told, gets everything: in order, and never more ahead than
// it can keep.
func TestCatchUp(t *testing.T) {
	const megabytes = 20
	for name, test := range map[string]struct {
		closed bool // while it was away
		live   int  // events that come before it reads
	}{
		"running":        {},
		"closed":         {closed: true},
		"busy":           {live: 5000},
		"busy, then end": {live: 300, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := spilling(t)
				first := r.table.Attach(0)
				child := r.start("p")
				child.events.Output(spawn.Stdout, []byte("x"))
				want(t, first, "p 1 x")
				r.table.Detach(first)
				block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
				for range megabytes * 16 {
					child.events.Output(spawn.Stdout, block)
				}
				if test.closed && test.live == 0 {
					child.end(0)
				}

				f := r.table.Attach(0)
				c := &returning{T: t, last: 1, ahead: map[uint64]Event{}}
				events := make(chan Event)
				go func() {
					defer close(events)
					for {
						e, ok := f.Next(nil)
						if !ok {
							return
						}
						e.Data = bytes.Clone(e.Data)
						events <- e
					}
				}()
				defer r.table.Detach(f)
				go func() {
					for i := range test.live {
						child.events.Admit(child.killed)
						child.events.Output(spawn.Stream(i%2), []byte{'x'}) // in turn: nothing grows
					}
					if test.closed && test.live > 0 {
						child.end(0)
					}
				}()
				// What is ahead comes first.
				for told := true; told; {
					synctest.Wait()
					select {
					case e := <-events:
						c.is(e)
					default:
						told = false
					}
				}
				reading, err := r.table.Read(&protocol.ReadParams{ProcessID: "p", AfterSeq: new(uint64(1))})
				if err != nil {
					t.Fatal(err)
				}
				c.has(reading.Result)
				if c.bytes > limits.CatchUpBytes {
					t.Errorf("the answer has %d bytes", c.bytes)
				}
				reading.Sent()
				if !test.closed {
					go child.end(0)
				}
				for !c.closed {
					c.is(<-events)
				}
				if total := megabytes<<20 + test.live; c.bytes != total || !c.exited {
					t.Errorf("%d bytes came, want %d; exited: %v", c.bytes, total, c.exited)
				}
				go func() {
					for range events { // what the feed hands out at the end
					}
				}()
			})
		})
	}
}

// TestNeverReading: a client that comes back and does not read is told what
// happens all the same, after a while.
func TestNeverReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		f := r.table.Attach(0)
		for i := range limits.AheadEvents + 10 {
			child.events.Output(spawn.Stream(i%2), []byte{'x'})
		}
		began := time.Now()
		for range limits.AheadEvents {
			f.Next(nil)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first events took %v", took)
		}
		for range 10 {
			f.Next(nil)
		}
		if took := time.Since(began); took != limits.AheadTimeout {
			t.Errorf("all events took %v", took)
		}
		other := r.start("other") // is not one that it can have missed anything of
		for i := range limits.AheadEvents + 10 {
			other.events.Output(spawn.Stream(i%2), []byte{'x'})
			f.Next(nil)
		}
	})
}

// TestStoppedReads: a read that stops early says where to go on, and nothing of
// what comes after.
func TestStoppedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spilling(t)
		child := r.start("p")
		block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
		const total = 30 << 20
		for range total / limits.ChunkBytes {
			child.events.Output(spawn.Stdout, block)
		}
		child.end(3)
		after, got := uint64(0), 0
		for reads := 1; ; reads++ {
			result := r.read("p", after)
			for i, chunk := range result.Chunks {
				if chunk.Seq != after+1+uint64(i) {
					t.Fatalf("number %d follows %d", chunk.Seq, after+uint64(i))
				}
				got += len(chunk.Chunk)
			}
			if result.NextSeq != after+1+uint64(len(result.Chunks)) && !result.Closed {
				t.Fatalf("next is %d after %d chunks from %d on", result.NextSeq, len(result.Chunks), after)
			}
			after = result.NextSeq - 1
			if result.Exited != result.Closed || result.Closed != (got == total) {
				t.Fatalf("after %d bytes: exited %v, closed %v", got, result.Exited, result.Closed)
			}
			if result.Closed {
				if reads != 3 || *result.ExitCode != 3 {
					t.Errorf("%d reads, exit code %d", reads, *result.ExitCode)
				}
				return
			}
		}
	})
}

// TestSmallCatchUp: the answer to a first read that leaves nothing out covers the
// exit and the close, whose numbers clients make out of that.
func TestSmallCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spilling(t)
		child := r.start("p")
		child.events.Output(spawn.Stdout, []byte("x"))
		r.read("p", 0) // or the next would be part of it
		child.events.Output(spawn.Stdout, []byte("y"))
		child.end(0)
		f := r.table.Attach(0)
		defer r.table.Detach(f)
		if got := r.read("p", 1); len(got.Chunks) != 1 || got.NextSeq != 5 || !got.Exited || !got.Closed {
			t.Errorf("%+v", got)
		}
	})
}

// TestAnswerOfAnother: the answer of a connection that is gone does not end the
// caution of the next one's feed.
func TestAnswerOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spilling(t)
		child := r.start("p")
		for i := range 10 {
			child.events.Output(spawn.Stream(i%2), []byte("x"))
		}
		first := r.table.Attach(0)
		reading, err := r.table.Read(&protocol.ReadParams{ProcessID: "p", AfterSeq: new(uint64(1))})
		if err != nil {
			t.Fatal(err)
		}
		r.table.Detach(first)
		f := r.table.Attach(0)
		defer r.table.Detach(f)
		reading.Sent()
		for i := range limits.AheadEvents + 10 {
			child.events.Output(spawn.Stream(i%2), []byte("x"))
		}
		began := time.Now()
		for range limits.AheadEvents + 1 {
			f.Next(nil)
		}
		if took := time.Since(began); took != limits.AheadTimeout {
			t.Errorf("told of more than a client can keep after %v", took)
		}
	})
}

// TestGrantOfAnother: the same for what a connection that is gone has granted.
func TestGrantOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		first := r.table.Attach(1)
		f := r.table.Attach(1)
		defer r.table.Detach(f)
		r.table.Grant(first, "p", 1000)
		child.events.Output(spawn.Stdout, []byte("a"))
		want(t, f, "p 1 a")
		child.events.Output(spawn.Stdout, []byte("b"))
		told := false
		go func() {
			f.Next(nil)
			told = true
		}()
		synctest.Wait()
		if told {
			t.Error("told without a window")
		}
		r.table.Grant(f, "p", 1)
		synctest.Wait()
		if !told {
			t.Error("not told with a window")
		}
	})
}

// TestAheadBytes: large events are held back before there are too many.
func TestAheadBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spilling(t)
		child := r.start("p")
		f := r.table.Attach(0)
		defer r.table.Detach(f)
		block := bytes.Repeat([]byte{'x'}, limits.ChunkBytes)
		const most = limits.AheadBytes / limits.ChunkBytes
		for i := range most + 1 {
			child.events.Output(spawn.Stream(i%2), block)
		}
		began := time.Now()
		for range most {
			f.Next(nil)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("what a client can keep took %v", took)
		}
		f.Next(nil)
		if took := time.Since(began); took != limits.AheadTimeout {
			t.Errorf("what it can't took %v", took)
		}
	})
}
