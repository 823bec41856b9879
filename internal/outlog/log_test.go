package outlog

import (
	"bytes"
	"math"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMemory: a process that prints little must cost little, and one whose
// memory is full not twice what it may hold.
func TestMemory(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	defer l.Close()
	if l.ring.buf != nil {
		t.Errorf("a ring of %d bytes for nothing", len(l.ring.buf))
	}
	fill(l, 1, 5)
	if len(l.ring.buf) != firstRing {
		t.Errorf("a ring of %d bytes for five", len(l.ring.buf))
	}
	fill(l, 100, limits.ChunkBytes)
	if most := limits.RetainedBytes*3/2 + 4*limits.ChunkBytes; len(l.ring.buf) > most {
		t.Errorf("a ring of %d bytes, want at most %d", len(l.ring.buf), most)
	}
	if got := l.inMemory(); got != limits.RetainedBytes {
		t.Errorf("%d bytes in memory, want %d", got, limits.RetainedBytes)
	}
}

// TestManyChunks: without a file, memory holds as many chunks as it may.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	defer l.Close()
	fill(l, limits.RetainedChunks+3, 1)
	wantRun(t, l, 4, limits.RetainedChunks+3, 1)
}

// TestIndex: what is known of a file full of tiny chunks takes little memory: of
// 256 MiB, less than 1 MiB.
func TestIndex(t *testing.T) {
	t.Parallel()
	const bytes = 4 << 20
	l := New(Config{Spill: new(disk).spill(bytes, 0)})
	defer l.Close()
	for seq := uint64(1); l.droppedSeq == 0; seq++ {
		l.Append(seq, 0, []byte{1})
		l.Trim(everything)
	}
	index := l.blocks.len() * int(unsafe.Sizeof(block{}))
	if index > bytes/256 {
		t.Errorf("an index of %d bytes for %d", index, bytes)
	}
	if l.ring.end < bytes/4 {
		t.Errorf("%d chunks of one byte fill a file of %d", l.ring.end, bytes)
	}
}

// TestReadBounds: a read without a bound of the caller's has ours.
func TestReadBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		chunks      int
		size        int
		first, left int // chunks of the first read, and whether there are more
	}{
		{"bytes", 200, limits.ChunkBytes, limits.ReadBytes / limits.ChunkBytes, 24},
		{"chunks", 60_000, 1, limits.RetainedChunks, 10_000},
		{"all", limits.ReadBytes / limits.ChunkBytes, limits.ChunkBytes, limits.ReadBytes / limits.ChunkBytes, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := New(Config{Spill: new(disk).spill(64<<20, 0)})
			defer l.Close()
			fill(l, test.chunks, test.size)
			result := l.Read(0, everything, nil)
			if len(result.Chunks) != test.first || result.Stopped != (test.left > 0) {
				t.Errorf("%d chunks, stopped %v; want %d", len(result.Chunks), result.Stopped, test.first)
			}
			result = l.Read(uint64(test.first), everything, nil)
			if len(result.Chunks) != test.left || result.Stopped {
				t.Errorf("then %d chunks, stopped %v; want %d", len(result.Chunks), result.Stopped, test.left)
			}
			wantRun(t, l, 1, uint64(test.chunks), test.size)
		})
	}
}

// TestPinned: what somebody has still to take is dropped only if there is a file
// that takes no more.
func TestPinned(t *testing.T) {
	t.Parallel()
	l := New(Config{MemoryBytes: 100})
	defer l.Close()
	for seq := uint64(1); seq <= 5; seq++ {
		l.Append(seq, 0, make([]byte, 50))
		l.Trim(1)
	}
	if l.chunks.len() != 4 || l.droppedSeq != 1 {
		t.Errorf("%d chunks after %d, want 4 after 1", l.chunks.len(), l.droppedSeq)
	}
	l.Trim(2)
	if l.chunks.len() != 3 {
		t.Errorf("%d chunks, want 3", l.chunks.len())
	}
	l.Trim(everything)
	if l.chunks.len() != 2 {
		t.Errorf("%d chunks, want 2", l.chunks.len())
	}
}

// TestReaderHoldsNothing: a reader that has caught up holds no block.
func TestReaderHoldsNothing(t *testing.T) {
	t.Parallel()
	l := New(Config{MemoryBytes: 1000, Spill: new(disk).spill(1<<20, 0)})
	defer l.Close()
	fill(l, 100, 100)
	var r Reader
	inFile := 0
	for seq := uint64(1); seq <= 100; seq++ {
		c, gap, ok := r.Next(l, seq-1, everything)
		if !ok || gap != nil || c.Seq != seq || !bytes.Equal(c.Data, filled(seq, 100)) {
			t.Fatalf("chunk %d, gap %v, %v; want %d", c.Seq, gap, ok, seq)
		}
		if r.held != nil {
			inFile++
		}
	}
	if inFile < 80 || r.held != nil {
		t.Errorf("%d chunks came from the file, at the end the reader holds %v", inFile, r.held)
	}
}

// TestReaderTurnsBack: a reader finds what it is asked for in the block that it
// holds, in any order, and numbers that are none of a chunk.
func TestReaderTurnsBack(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := New(Config{MemoryBytes: 10_000, Spill: d.spill(1<<20, 0)})
	defer l.Close()
	for seq := uint64(2); seq <= 400; seq += 2 {
		l.Append(seq, 0, filled(seq, 100))
		l.Trim(everything)
	}
	var r Reader
	reads := 0
	for _, after := range []uint64{0, 3, 20, 4, 21, 2, 48, 3} {
		d.onRead = func() { reads++ }
		c, gap, ok := r.Next(l, after, everything)
		want := (after + 2) / 2 * 2
		if !ok || gap != nil || c.Seq != want || !bytes.Equal(c.Data, filled(want, 100)) {
			t.Errorf("chunk %d, gap %v, %v after %d; want %d", c.Seq, gap, ok, after, want)
		}
	}
	if reads != 1 {
		t.Errorf("the block was read %d times", reads)
	}
}

// TestReaderOfMany: a reader tells the block of one log from that of another.
func TestReaderOfMany(t *testing.T) {
	t.Parallel()
	var r Reader
	for size := 100; size < 105; size++ {
		l := New(Config{MemoryBytes: 1000, Spill: new(disk).spill(1<<20, 0)})
		defer l.Close() //nolint:revive // the block is held when the next log is made
		fill(l, 100, size)
		if c, _, ok := r.Next(l, 3, everything); !ok || !bytes.Equal(c.Data, filled(4, size)) {
			t.Errorf("chunk %d of %d bytes, want 4 of %d", c.Seq, len(c.Data), size)
		}
	}
}

// TestOrder: numbers that do not rise would make chunks unreachable.
func TestOrder(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	defer l.Close()
	l.Append(2, 0, []byte{1})
	defer func() {
		if recover() == nil {
			t.Error("a number was taken twice")
		}
	}()
	l.Append(2, 0, []byte{1})
}

// TestLentChunk: a large chunk stays as it is until the reader moves on, whatever
// is appended and dropped meanwhile.
func TestLentChunk(t *testing.T) {
	t.Parallel()
	for name, spill := range map[string]*Spill{"memory": nil, "file": new(disk).spill(1<<20, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New(Config{Spill: spill})
			defer l.Close()
			const size = limits.ChunkBytes
			var readers [3]Reader
			var chunks [3]Chunk
			for seq := uint64(1); seq <= 200; seq++ {
				l.Append(seq, 0, filled(seq, size))
				l.Trim(math.MaxUint64)
				for i := range readers {
					// One moves on with each chunk, others rest for a lap or two.
					if rest := []uint64{1, 21, 57}[i]; seq%rest == 0 {
						c, _, ok := readers[i].Next(l, seq-1, everything)
						if !ok || c.Seq != seq {
							t.Fatalf("chunk %d, %v; want %d", c.Seq, ok, seq)
						}
						chunks[i] = c
					}
					if c := chunks[i]; c.Seq != 0 && !bytes.Equal(c.Data, filled(c.Seq, size)) {
						t.Fatalf("chunk %d is not what it was, at %d", c.Seq, seq)
					}
				}
			}
			for i := range readers {
				readers[i].Release()
			}
			if l.ring.lent != 0 {
				t.Errorf("%d pieces are lent after all were given back", l.ring.lent)
			}
		})
	}
}

// TestFullLog: memory may wait to be trimmed, but not for long.
func TestFullLog(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"bytes": limits.ChunkBytes, "chunks": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New(Config{})
			defer l.Close()
			most := min(limits.RetainedChunks, limits.RetainedBytes/size) * 3 / 2
			p := make([]byte, size)
			for seq := 1; !l.Full(); seq++ {
				if seq > most+1 {
					t.Fatalf("not full after %d chunks", seq-1)
				}
				l.Append(uint64(seq), 0, p)
			}
			if l.chunks.len() != most+1 {
				t.Errorf("full after %d chunks, want %d", l.chunks.len(), most+1)
			}
			l.Trim(math.MaxUint64)
			if l.Full() || l.chunks.len() != most/3*2 {
				t.Errorf("%d chunks after Trim", l.chunks.len())
			}
		})
	}
}
