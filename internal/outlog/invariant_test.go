package outlog

import (
	"bytes"
	"io"
	"slices"
	"syscall"

	"pgregory.net/rapid"
)

// check compares all that the log knows with the model.
func (m *model) check(t *rapid.T) {
	l := m.log
	i := m.first()
	if i < 0 || l.dropped != m.before[i] || i > 0 && l.droppedSeq != m.all[i-1].Seq {
		t.Fatalf("dropped %v up to %d; kept are those from place %d of %d on, before which there are %v",
			l.dropped, l.droppedSeq, i, len(m.all), m.before[max(i, 0)])
	}
	for n := range l.blocks.len() {
		b := l.blocks.at(n)
		m.checkBlock(t, b, i)
		i += int(b.chunks)
	}
	for n := range l.chunks.len() {
		c := l.chunks.at(n)
		want := m.all[i]
		if c.seq != want.Seq || c.stream != want.Stream || int(c.length) != len(want.Data) {
			t.Fatalf("chunk %+v in memory, want %d of stream %d", *c, want.Seq, want.Stream)
		}
		i++
	}
	if top := l.ring.top; uint64(len(l.ring.buf)) > max(2*l.inMemory(), top, firstRing) && l.inMemory() > top {
		t.Fatalf("a ring of %d bytes for %d", len(l.ring.buf), l.inMemory())
	}
	m.checkFile(t)
	for _, c := range m.result {
		i := slices.IndexFunc(m.all, func(w Chunk) bool { return w.Seq == c.Seq })
		checkChunks(t, []Chunk{c}, m.all[i:i+1])
	}
}

// checkBlock compares a block with the chunks from a place on.
func (m *model) checkBlock(t *rapid.T, b *block, i int) {
	var sizes [streams]uint32
	for _, c := range m.all[i : i+int(b.chunks)] {
		sizes[c.Stream] += uint32(len(c.Data))
	}
	var start uint64
	for _, n := range m.before[i] {
		start += n
	}
	last := m.all[i+int(b.chunks)-1].Seq
	if b.first != m.all[i].Seq || b.last != last || b.bytes != sizes || b.start != start || b.ordinal != uint64(i) {
		t.Fatalf("block %+v; want chunks %d to %d, the first at place %d, of %v bytes from %d on",
			*b, m.all[i].Seq, last, i, sizes, start)
	}
}

// checkFile checks that the file is within its bounds, and that blocks do not
// overlap.
func (m *model) checkFile(t *rapid.T) {
	l := m.log
	if l.spill == nil {
		return
	}
	s := &l.store
	if used := l.spill.used.Load(); used != s.size || used > m.total || used > m.perLog {
		t.Fatalf("%d bytes are counted for a file of %d bytes, which may have %d, and all together %d",
			used, s.size, m.perLog, m.total)
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if n := len(m.disk.files); n > 1 || (n == 1) != (s.file != nil) || m.disk.used() > s.size {
		t.Fatalf("%d files are open, with %d bytes; want %d bytes", n, m.disk.used(), s.size)
	}
	blocks := make([]block, 0, l.blocks.len())
	for i := range l.blocks.len() {
		blocks = append(blocks, *l.blocks.at(i))
	}
	slices.SortFunc(blocks, func(a, b block) int { return int(a.at - b.at) })
	var end int64
	for _, b := range blocks {
		if b.at < end {
			t.Fatalf("a block at %d, before another one ends at %d", b.at, end)
		}
		end = b.at + b.size()
	}
	if end > s.size {
		t.Fatalf("a block ends at %d in a file of %d bytes", end, s.size)
	}
}

// behind checks what is said of a place.
func (m *model) behind(t *rapid.T) {
	seq := rapid.Uint64Range(0, m.next).Draw(t, "place")
	i, _ := m.after(seq)
	var size, chunks uint64
	for _, c := range m.all[i:] {
		size += uint64(len(c.Data))
		chunks++
	}
	want := max(size, chunks*(m.log.memoryBytes/uint64(m.log.memoryChunks)))
	got := m.log.Behind(seq)
	slack := uint64(0) // what comes before in the same block
	if n := m.log.blockAfter(seq); n >= 0 && m.log.blocks.at(n).first <= seq {
		slack = max(uint64(m.log.blocks.at(n).data()), uint64(m.log.blocks.at(n).chunks)*m.log.memoryBytes)
	}
	if got < want || got > want+slack {
		t.Fatalf("Behind(%d) is %d, want %d (or %d more)", seq, got, want, slack)
	}
}

// close checks that nothing is left behind.
func (m *model) close(t *rapid.T) {
	m.log.Close()
	result := m.log.Read(0, everything, nil)
	if len(result.Chunks) > 0 {
		t.Fatalf("%d chunks after Close", len(result.Chunks))
	}
	for _, c := range m.cursors {
		if _, _, ok := c.reader.Next(m.log, 0, everything); ok {
			t.Fatal("a chunk after Close")
		}
		c.reader.Release()
	}
	if m.log.spill != nil && (m.log.spill.used.Load() != 0 || len(m.disk.files) > 0) {
		t.Fatalf("%d bytes are still counted, %d files are open", m.log.spill.used.Load(), len(m.disk.files))
	}
}

// fault changes what the disk does.
func (m *model) fault(t *rapid.T) {
	m.faults = true
	kind := rapid.SampledFrom([]string{"open", "full", "write", "short", "read", "truncated", "", "", ""}).Draw(t, "fault")
	m.disk.mend()
	m.disk.set(func() {
		d := &m.disk
		switch kind {
		case "open":
			d.openFails = syscall.EMFILE
		case "full":
			d.room = rapid.Int64Range(1, 200_000).Draw(t, "room")
		case "write":
			d.writeFails = syscall.EIO
		case "short":
			d.short = true
		case "read":
			d.readFails = rapid.SampledFrom([]error{syscall.EIO, io.EOF}).Draw(t, "error")
		case "truncated":
			for _, f := range d.files {
				f.data = nil
			}
		}
	})
}

func checkGap(t *rapid.T, got, want *Gap) {
	if (got == nil) != (want == nil) || got != nil && *got != *want {
		t.Fatalf("gap %v, want %v", got, want)
	}
}

func checkChunks(t *rapid.T, got, want []Chunk) {
	if len(got) != len(want) {
		t.Fatalf("%d chunks, want %d", len(got), len(want))
	}
	for i, c := range got {
		if w := want[i]; c.Seq != w.Seq || c.Stream != w.Stream || !bytes.Equal(c.Data, w.Data) {
			t.Fatalf("chunk %d of stream %d, %d bytes; want chunk %d of stream %d, %d bytes",
				c.Seq, c.Stream, len(c.Data), w.Seq, w.Stream, len(w.Data))
		}
	}
}
