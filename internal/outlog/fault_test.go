package outlog

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
)

// Blocks of these logs hold 25 chunks of 100 bytes and take one page.
const (
	faultMemory = 5_000
	faultChunk  = 100
	faultBatch  = 25

	faultInMemory = faultMemory / faultChunk
	faultLeast    = 4 * faultBatch * faultChunk // size of a file that is worth having
)

func faultLog(d *disk, perLog, total int64) *Log {
	return New(Config{MemoryBytes: faultMemory, Spill: d.spill(perLog, total)})
}

// wantBlocks checks that a log which fill has filled holds so many blocks.
func wantBlocks(t *testing.T, l *Log, blocks int) {
	t.Helper()
	if l.blocks.len() != blocks {
		t.Errorf("%d blocks, want %d", l.blocks.len(), blocks)
	}
	wantRun(t, l, l.droppedSeq+1, l.newest, faultChunk)
}

// TestRing: a file of the size that it may have is written over from its
// beginning, and nothing of that is a failure.
func TestRing(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := faultLog(d, 10*pageBytes+1, 0)
	defer l.Close()
	for range 100 {
		fill(l, faultBatch, faultChunk)
		wantBlocks(t, l, min(10, l.blocks.len()))
	}
	wantBlocks(t, l, 10)
	if d.told() != 0 {
		t.Errorf("failures: %v", d.failures)
	}
}

// TestFull: a file that can't grow becomes a ring of the size that it has, and
// grows when it can.
func TestFull(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		total int64
		room  int64
	}{
		{"disk", 0, 7*pageBytes + 100},
		{"total", 7*pageBytes + 100, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{room: test.room}
			l := faultLog(d, 12*pageBytes, test.total)
			defer l.Close()
			fill(l, 1000, faultChunk)
			wantBlocks(t, l, 7)
			d.set(func() { d.room = 0 })
			l.spill.total = 1 << 40
			fill(l, 1000, faultChunk)
			wantBlocks(t, l, 12)
			if d.told() != 0 {
				t.Errorf("failures: %v", d.failures)
			}
		})
	}
}

// TestFailures: whatever goes wrong, memory stays within its bounds and full,
// what is lost is counted, no file stays open, and there is one message, until a
// file works again.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		set  func(d *disk)
		want error
	}{
		{"no file", func(d *disk) { d.openFails = syscall.EMFILE }, syscall.EMFILE},
		{"no room", func(d *disk) { d.room = 1 }, fullErrors[0]},
		{"little room", func(d *disk) { d.room = faultLeast - 1 }, fullErrors[0]},
		{"write", func(d *disk) { d.writeFails = syscall.EIO }, syscall.EIO},
		{"short write", func(d *disk) { d.short = true }, io.ErrShortWrite},
		{"not even written over", func(d *disk) { d.writeFails = fullErrors[0] }, fullErrors[0]},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &disk{}
			l := faultLog(d, 10*pageBytes, 0)
			defer l.Close()
			const chunks, blocks = 1000, 1000 / faultBatch
			for round := 1; round <= 3; round++ {
				d.set(func() { test.set(d) })
				d.writes = 0
				fill(l, chunks, faultChunk)
				if d.told() != round || !errors.Is(d.failures[round-1], test.want) {
					t.Fatalf("round %d: failures %v; want one: %v", round, d.failures, test.want)
				}
				if n := l.inMemory(); n > faultMemory || n < faultMemory/2 {
					t.Errorf("%d bytes in memory, want about %d", n, faultMemory)
				}
				if d.writes > 2*blocks {
					t.Errorf("%d attempts to write %d blocks", d.writes, blocks)
				}
				wantRun(t, l, l.droppedSeq+1, l.newest, faultChunk)

				d.mend()
				fill(l, chunks, faultChunk)
				wantBlocks(t, l, 10)
				l.work.Lock()
				l.giveUp(nil) // or it would need no file
				l.work.Unlock()
			}
			if l.spill.used.Load() != 0 || len(d.files) > 0 {
				t.Errorf("%d files are open, %d bytes are counted", len(d.files), l.spill.used.Load())
			}
		})
	}
}

// TestTotalUsedUp: a log that has no part in what all may have drops what leaves
// its memory, without a file, and says so once, however well others do.
func TestTotalUsedUp(t *testing.T) {
	t.Parallel()
	d := &disk{}
	spill := d.spill(10*pageBytes, 10*pageBytes)
	rich := New(Config{MemoryBytes: faultMemory, Spill: spill})
	defer rich.Close()
	poor := New(Config{MemoryBytes: faultMemory, Spill: spill})
	defer poor.Close()
	fill(rich, 1000, faultChunk)
	for range 100 {
		fill(rich, faultBatch, faultChunk)
		fill(poor, faultBatch, faultChunk)
	}
	wantBlocks(t, rich, 10)
	wantBlocks(t, poor, 0)
	if len(d.failures) != 1 || !errors.Is(d.failures[0], errTotal) || len(d.files) != 1 {
		t.Errorf("failures %v, %d files", d.failures, len(d.files))
	}
	rich.Close()
	fill(poor, 1000, faultChunk)
	wantBlocks(t, poor, 10)
}

// TestTooSmall: a file that does not hold a block is not made.
func TestTooSmall(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := faultLog(d, pageBytes-1, 0)
	defer l.Close()
	fill(l, 1000, faultChunk)
	wantBlocks(t, l, 0)
	if d.writes != 0 || d.told() != 1 {
		t.Errorf("%d writes, failures %v", d.writes, d.failures)
	}
}

// TestLostBlocks: a block that can't be read is dropped, with all before it, and
// what is left can be read.
func TestLostBlocks(t *testing.T) {
	t.Parallel()
	readers := map[string]func(l *Log, after uint64) (uint64, *Gap){
		"Read": func(l *Log, after uint64) (uint64, *Gap) {
			result := l.Read(after, everything, nil)
			return result.Chunks[0].Seq, result.Gap
		},
		"Next": func(l *Log, after uint64) (uint64, *Gap) {
			c, gap, _ := new(Reader).Next(l, after, everything)
			return c.Seq, gap
		},
	}
	for name, read := range readers {
		for _, test := range []struct {
			name  string
			after uint64
			spoil func(data []byte)
			first uint64 // that is left
		}{
			{"table", 2*faultBatch + 3, func(data []byte) { data[2*pageBytes] ^= 3 }, 3*faultBatch + 1},
			{"zeros", 9 * faultBatch, func(data []byte) { clear(data) }, 10*faultBatch + 1},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				d := &disk{}
				l := faultLog(d, 1<<20, 0)
				defer l.Close()
				fill(l, 10*faultBatch+faultInMemory, faultChunk)
				test.spoil(d.files[0].data)
				got, gap := read(l, test.after)
				if got != test.first {
					t.Errorf("chunk %d after %d, want %d", got, test.after, test.first)
				}
				wantGap(t, gap, test.first, faultChunk)
				if d.told() != 1 || !errors.Is(d.failures[0], errGarbled) {
					t.Errorf("failures %v", d.failures)
				}
				wantRun(t, l, test.first, l.newest, faultChunk)
			})
		}
	}
}

// TestLostInTheMiddle: a read that finds a lost block ends before it, and the
// next one tells of it.
func TestLostInTheMiddle(t *testing.T) {
	t.Parallel()
	d := &disk{}
	l := faultLog(d, 1<<20, 0)
	defer l.Close()
	fill(l, 10*faultBatch+faultInMemory, faultChunk)
	clear(d.files[0].data[5*pageBytes : 6*pageBytes])
	result := l.Read(0, everything, nil)
	if len(result.Chunks) != 5*faultBatch || !result.Stopped || result.Gap != nil {
		t.Errorf("%d chunks, stopped %v, gap %v", len(result.Chunks), result.Stopped, result.Gap)
	}
	wantRun(t, l, 6*faultBatch+1, l.newest, faultChunk)
}

// TestTempDir: without a folder the system's is used, and without bytes there is
// no file.
func TestTempDir(t *testing.T) {
	t.Parallel()
	if s := NewSpill("", 1, 0, nil); s.dir != os.TempDir() {
		t.Errorf("folder %q", s.dir)
	}
	if NewSpill("", 0, 1, nil) != nil {
		t.Error("a place for no output")
	}
}
