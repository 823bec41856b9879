package outlog

import (
	"bytes"
	"sync"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
)

// looks are the ways to find the first chunk after a number.
var looks = []struct {
	name string
	look func(l *Log, after uint64) (Chunk, *Gap, bool)
}{
	{"Read", func(l *Log, after uint64) (Chunk, *Gap, bool) {
		one := uint64(1)
		result := l.Read(after, everything, &one)
		if len(result.Chunks) == 0 {
			return Chunk{}, result.Gap, false
		}
		return result.Chunks[0], result.Gap, true
	}},
	{"Next", func(l *Log, after uint64) (Chunk, *Gap, bool) {
		return new(Reader).Next(l, after, everything)
	}},
}

// TestOvertaken: a block that is overwritten while it is read is not used; what
// comes in its place is the oldest that there is, with what was dropped before.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	for _, test := range looks {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			l := faultLog(d, 10*pageBytes, 0)
			defer l.Close()
			fill(l, 10*faultBatch+faultInMemory, faultChunk)
			d.onRead = func() { fill(l, 14*faultBatch, faultChunk) }
			c, gap, ok := test.look(l, 0)
			const first = 14*faultBatch + 1
			if !ok || !bytes.Equal(c.Data, filled(first, faultChunk)) {
				t.Errorf("chunk %d, %v; want %d", c.Seq, ok, first)
			}
			wantGap(t, gap, first, faultChunk)
		})
	}
}

// TestOvertakenAgain: the second attempt keeps the writer away, so that there is
// no third.
func TestOvertakenAgain(t *testing.T) {
	t.Parallel()
	for _, test := range looks {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			l := faultLog(d, 10*pageBytes, 0)
			defer l.Close()
			fill(l, 10*faultBatch+faultInMemory, faultChunk)
			var writer sync.WaitGroup
			d.onRead = func() {
				fill(l, 14*faultBatch, faultChunk)
				d.set(func() {
					d.onRead = func() {
						if l.work.TryLock() {
							t.Error("others may write during the second attempt")
							l.work.Unlock()
						}
						writer.Go(func() { fill(l, 1000, faultChunk) })
					}
				})
			}
			if c, _, ok := test.look(l, 0); !ok || c.Seq != 14*faultBatch+1 {
				t.Errorf("chunk %d, %v", c.Seq, ok)
			}
			writer.Wait()
		})
	}
}

// TestClosedMeanwhile: a log is closed, or its file is given up, while a block
// is read.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, test := range looks {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			l := faultLog(d, 10*pageBytes, 0)
			fill(l, 10*faultBatch+faultInMemory, faultChunk)
			d.onRead = func() {
				d.set(func() { d.writeFails = syscall.EIO })
				fill(l, faultBatch, faultChunk)
			}
			c, gap, ok := test.look(l, 0)
			if !ok {
				t.Fatal("no chunk")
			}
			wantGap(t, gap, c.Seq, faultChunk)
			wantRun(t, l, c.Seq, l.newest, faultChunk)

			d.mend()
			fill(l, 10*faultBatch, faultChunk)
			d.onRead = l.Close
			if c, _, ok := test.look(l, 0); ok {
				t.Errorf("chunk %d after Close", c.Seq)
			}
			l.Append(l.newest+1, 0, []byte{1})
			l.Trim(everything)
			if l.Behind(0) != 0 || l.Grow(l.newest, 0, []byte{1}) {
				t.Error("something is left after Close")
			}
			if l.spill.used.Load() != 0 || len(d.files) > 0 {
				t.Errorf("%d files are open, %d bytes are counted", len(d.files), l.spill.used.Load())
			}
			l.Close()
		})
	}
}

// TestWhileWriting: while a block is being written, its chunks can be read, and
// others be appended, so that the ring has to grow; but what is being written
// does not grow.
func TestWhileWriting(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := New(Config{MemoryBytes: 100, MemoryChunks: 4, Spill: d.spill(1<<20, 0)})
	defer l.Close()
	called := false
	d.onWrite = func() {
		called = true
		if l.Grow(1, 1, []byte{1}) {
			t.Error("a chunk grew that is being written")
		}
		for seq := uint64(2); seq <= 10; seq++ {
			l.Append(seq, Stream(seq%2), filled(seq, limits.ChunkBytes))
		}
		if l.Grow(9, 1, []byte{1}) || l.Grow(10, 1, []byte{1}) || !l.Grow(10, 0, nil) {
			t.Error("the newest chunk of a stream grows, and no other")
		}
		wantRun(t, l, 1, 10, limits.ChunkBytes)
	}
	l.Append(1, 1, filled(1, limits.ChunkBytes))
	l.Trim(everything)
	if !called || l.blocks.len() < 9 {
		t.Errorf("%d blocks", l.blocks.len())
	}
	wantRun(t, l, 1, 10, limits.ChunkBytes)
}

// TestTrimTogether: of those who trim at the same time one works, the others
// wait until memory is within its bounds.
func TestTrimTogether(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := faultLog(d, 1<<20, 0)
	defer l.Close()
	var others sync.WaitGroup
	d.onWrite = func() {
		for range 3 {
			others.Go(func() {
				l.Trim(everything)
				if n := l.inMemory(); n > faultMemory {
					t.Errorf("%d bytes in memory", n)
				}
			})
		}
	}
	fill(l, faultInMemory, faultChunk)
	l.Append(l.newest+1, 0, make([]byte, faultChunk))
	l.Trim(everything)
	others.Wait()
	if d.writes != 1 {
		t.Errorf("%d blocks were written, want one", d.writes)
	}
}
