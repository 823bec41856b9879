package outlog

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// describe makes a table and the description of its block.
func describe(entries []entry) (block, []byte) {
	var b block
	var table []byte
	for i, e := range entries {
		if i == 0 {
			b.first = e.seq
		}
		table = appendEntry(table, b.last, e)
		b.last = e.seq
		b.bytes[e.stream] += uint32(e.length)
		b.chunks++
	}
	b.table = uint32(len(table))
	return b, table
}

func TestTable(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{1, 0, 1},
		{2, 1, 64 << 10},
		{300, 2, 7},
		{math.MaxUint64 - 1, 0, 1 << 20},
		{math.MaxUint64, 1, 1},
	}
	b, table := describe(entries)
	if err := b.check(table); err != nil {
		t.Fatal(err)
	}
	w, at := walker{rest: table}, 0
	for _, want := range entries {
		if !w.next() || w.last != want || w.at != at {
			t.Fatalf("entry %+v at %d, want %+v at %d", w.last, w.at, want, at)
		}
		at += want.length
	}
	if w.next() || at != b.data() || b.used() != at+len(table) {
		t.Errorf("data ends at %d, want %d, and the block at %d", at, b.data(), b.used())
	}
	if size := b.size(); size%pageBytes != 0 || size < int64(b.used()) || size >= int64(b.used())+pageBytes {
		t.Errorf("%d bytes take %d in the file", b.used(), size)
	}
}

// TestGarbledTable: no table passes for another one.
func TestGarbledTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seq := uint64(0)
		entries := make([]entry, rapid.IntRange(1, 20).Draw(t, "chunks"))
		for i := range entries {
			seq += rapid.Uint64Range(1, 1000).Draw(t, "step")
			stream := Stream(rapid.IntRange(0, int(streams)-1).Draw(t, "stream"))
			entries[i] = entry{seq, stream, rapid.IntRange(1, 1<<16).Draw(t, "length")}
		}
		b, table := describe(entries)
		if err := b.check(table); err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(table)-1).Draw(t, "cut")
		if b.check(table[:cut]) == nil {
			t.Fatalf("a table of %d bytes passes for one of %d", cut, len(table))
		}
		if b.check(append(table, 4, 4)) == nil {
			t.Fatal("a table passes that has one entry more")
		}
		other := b
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			other.first--
		case 1:
			other.last++
		case 2:
			other.chunks++
		case 3:
			other.bytes[rapid.IntRange(0, int(streams)-1).Draw(t, "of")]++
		}
		if other.check(table) == nil {
			t.Fatalf("the table of %+v passes for that of %+v", b, other)
		}
	})
}

// FuzzTable feeds arbitrary tables to a block that has some chunks. What passes
// must add up.
func FuzzTable(f *testing.F) {
	for _, entries := range [][]entry{
		{{1, 0, 1}},
		{{1, 0, 1}, {2, 1, 2}, {4, 2, 64 << 10}},
		{{7, 2, 3}, {math.MaxUint64, 0, 5}},
	} {
		b, table := describe(entries)
		f.Add(table, b.first, b.last, b.chunks, b.bytes[0], b.bytes[1], b.bytes[2])
	}
	f.Add([]byte{0x80}, uint64(0), uint64(0), uint32(0), uint32(0), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, table []byte, first, last uint64, chunks, out, err, terminal uint32) {
		b := block{
			first: first, last: last, chunks: chunks,
			table: uint32(len(table)), bytes: [streams]uint32{out, err, terminal},
		}
		if b.check(table) != nil {
			return
		}
		w := walker{rest: table}
		var n uint32
		var seq uint64
		end := 0
		for w.next() {
			if w.last.seq <= seq || w.last.length < 1 || w.at != end {
				t.Fatalf("entry %+v at %d after number %d, want it at %d", w.last, w.at, seq, end)
			}
			seq = w.last.seq
			end = w.at + w.last.length
			n++
		}
		if end != b.data() || n != chunks || seq != last {
			t.Fatalf("%d chunks up to %d with %d bytes pass for %+v", n, seq, end, b)
		}
	})
}

// FuzzBlock feeds arbitrary bytes to those who read from the file.
func FuzzBlock(f *testing.F) {
	f.Add([]byte{}, uint64(0))
	f.Add([]byte{1, 4 << 1, 1, 4 << 2}, uint64(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 4}, uint64(30))
	f.Fuzz(func(t *testing.T, data []byte, after uint64) {
		d := &disk{}
		l := faultLog(d, 1<<20, 0)
		defer l.Close()
		fill(l, 4*faultBatch+faultInMemory, faultChunk)
		copy(d.files[0].data[pageBytes:], data)
		var r Reader
		for at := after; ; {
			c, _, ok := r.Next(l, at, everything)
			if !ok {
				break
			}
			if c.Seq <= at || len(c.Data) == 0 {
				t.Fatalf("chunk %d with %d bytes after %d", c.Seq, len(c.Data), at)
			}
			at = c.Seq
		}
		l.Read(after, everything, nil)
	})
}
