package outlog

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/limits"
)

// model is a log that keeps everything in a list. What its counterpart may have
// dropped follows from a few rules, which check knows.
type model struct {
	log    *Log
	disk   disk
	perLog int64
	total  int64

	all     []Chunk
	before  [][streams]uint64 // bytes of each stream before a chunk, and before the next one
	next    uint64
	sealed  uint64
	cursors []*cursor
	result  []Chunk // of the last read, which must stay as it is
	faults  bool    // the disk has had one
	largest int     // chunk, also after growing
}

// cursor walks through the log.
type cursor struct {
	reader Reader
	at     uint64
}

func newModel(t *rapid.T) *model {
	config := Config{
		MemoryBytes:  rapid.OneOf(rapid.IntRange(1, 20_000), rapid.IntRange(1, 300_000)).Draw(t, "memory bytes"),
		MemoryChunks: rapid.IntRange(1, 60).Draw(t, "memory chunks"),
	}
	m := &model{next: 1, before: make([][streams]uint64, 1)}
	if rapid.Bool().Draw(t, "spills") {
		m.perLog = rapid.Int64Range(1, 200_000).Draw(t, "file bytes")
		m.total = rapid.OneOf(rapid.Int64Range(1, 200_000), rapid.Just(int64(math.MaxInt64))).Draw(t, "total")
		config.Spill = m.disk.spill(m.perLog, m.total)
	}
	m.log = New(config)
	m.cursors = []*cursor{{}, {}, {}}
	return m
}

// output draws what a process may write.
func output(t *rapid.T) (Stream, []byte) {
	size := rapid.OneOf(
		rapid.IntRange(1, 50), rapid.IntRange(1, 5000), rapid.IntRange(1, limits.ChunkBytes),
	).Draw(t, "size")
	p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, size)
	p[0], p[size-1] = '<', '>'
	return Stream(rapid.IntRange(0, int(streams)-1).Draw(t, "stream")), p
}

// first returns the place of the oldest chunk that the log has kept.
func (m *model) first() int {
	n := m.log.chunks.len()
	for i := range m.log.blocks.len() {
		n += int(m.log.blocks.at(i).chunks)
	}
	return len(m.all) - n
}

// after returns the place of the first chunk after a number, and what is to be
// told of those that are not there.
func (m *model) after(seq uint64) (int, *Gap) {
	first := m.first()
	i := first
	for i < len(m.all) && m.all[i].Seq <= seq {
		i++
	}
	if first == 0 || m.all[first-1].Seq <= seq {
		return i, nil
	}
	gap := &Gap{Dropped: m.before[first]}
	if first < len(m.all) {
		gap.FirstSeq = m.all[first].Seq
	}
	return i, gap
}

func (m *model) append(t *rapid.T) {
	stream, data := output(t)
	m.log.Append(m.next, stream, data)
	m.all = append(m.all, Chunk{m.next, stream, data})
	m.largest = max(m.largest, len(data))
	m.before = append(m.before, m.before[len(m.before)-1])
	m.before[len(m.all)][stream] += uint64(len(data))
	m.next++
}

func (m *model) grow(t *rapid.T) {
	stream, data := output(t)
	can := false
	if last := len(m.all) - 1; last >= 0 && m.log.chunks.len() > 0 {
		c := &m.all[last]
		can = c.Seq == m.next-1 && c.Stream == stream && c.Seq > m.sealed &&
			len(c.Data)+len(data) <= limits.ChunkBytes
		if can {
			c.Data = slices.Concat(c.Data, data)
			m.largest = max(m.largest, len(c.Data))
			m.before[last+1][stream] += uint64(len(data))
		}
	}
	if grew := m.log.Grow(m.next-1, stream, data); grew != can {
		t.Fatalf("Grow returned %v, want %v", grew, can)
	}
}

func (m *model) trim(t *rapid.T) {
	pinned := rapid.OneOf(rapid.Just(uint64(everything)), rapid.Uint64Range(0, m.next)).Draw(t, "pinned")
	first := m.first()
	m.log.Trim(pinned)
	l := m.log
	works := l.spill != nil && m.disk.told() == 0
	if l.over() && (works || l.chunks.at(0).seq <= pinned) {
		t.Fatalf("memory has %d bytes in %d chunks after Trim", l.inMemory(), l.chunks.len())
	}
	dropped := m.first()
	if dropped == first {
		return
	}
	if l.spill == nil {
		bytes, chunks := l.inMemory()+uint64(len(m.all[dropped-1].Data)), l.chunks.len()+1
		if bytes <= l.memoryBytes && chunks <= l.memoryChunks {
			t.Fatalf("dropped a chunk though there were only %d bytes in %d chunks", bytes, chunks)
		}
		return
	}
	// A file that works loses blocks only to others.
	var kept int64
	for i := range l.blocks.len() {
		kept += l.blocks.at(i).size()
	}
	reach := min(m.perLog, m.total)
	largest := int64(max(l.batchBytes, m.largest) + 20*l.batchChunks + pageBytes)
	if works && !m.faults && kept < reach-3*largest {
		t.Fatalf("dropped chunks though there are only %d of %d bytes in the file", kept, reach)
	}
}

// bound draws a number that chunks are to be before.
func (m *model) bound(t *rapid.T, after uint64) uint64 {
	return rapid.OneOf(
		rapid.Just(uint64(everything)), rapid.Uint64Range(after, after+4), rapid.Uint64Range(0, m.next),
	).Draw(t, "before")
}

func (m *model) read(t *rapid.T) {
	after := rapid.Uint64Range(0, m.next).Draw(t, "after")
	before := m.bound(t, after)
	most := rapid.OneOf(
		rapid.Just((*uint64)(nil)), rapid.Ptr(rapid.Uint64Range(0, 100_000), false),
	).Draw(t, "max bytes")
	result := m.log.Read(after, before, most)

	i, gap := m.after(after) // as it is now: what can't be read was dropped before anything was taken
	checkGap(t, result.Gap, gap)
	bound := uint64(limits.ReadBytes)
	if most != nil {
		bound = min(bound, *most)
	}
	total, n := uint64(0), 0
	var stopped bool
	for ; i+n < len(m.all) && m.all[i+n].Seq < before; n++ {
		total += uint64(len(m.all[i+n].Data))
		if stopped = n > 0 && (total > bound || messageBytes(n+1, total) > limits.ReadMessageBytes); stopped {
			break
		}
	}
	checkChunks(t, result.Chunks, m.all[i:i+n])
	if result.Stopped != stopped {
		t.Fatalf("Read stopped: %v, want %v", result.Stopped, stopped)
	}
	m.result = result.Chunks
	if n > 0 {
		m.sealed = max(m.sealed, m.all[i+n-1].Seq)
	}
}

func (m *model) newest(t *rapid.T) {
	most := rapid.Uint64Range(0, 400_000).Draw(t, "most")
	got := m.log.Newest(most)
	m.sealed = m.log.sealed // it is a read, of more than it returns
	i := len(m.all)
	for total := uint64(0); i > m.first(); i-- {
		if total += uint64(len(m.all[i-1].Data)); total > most {
			break
		}
	}
	checkChunks(t, got, m.all[i:])
}

func (m *model) walk(t *rapid.T) {
	c := rapid.SampledFrom(m.cursors).Draw(t, "cursor")
	before := m.bound(t, c.at)
	if rapid.IntRange(0, 9).Draw(t, "jump") == 0 {
		c.at = rapid.Uint64Range(0, m.next).Draw(t, "to")
	}
	held := c.reader.log == m.log && c.at >= c.reader.block.first && c.at < c.reader.block.last
	got, gap, ok := c.reader.Next(m.log, c.at, before)

	i, wantGap := m.after(c.at)
	if held { // what a reader has in its hands is not lost to it
		wantGap = nil
		i = slices.IndexFunc(m.all, func(chunk Chunk) bool { return chunk.Seq > c.at })
	}
	checkGap(t, gap, wantGap)
	if !ok {
		if i < len(m.all) && m.all[i].Seq < before {
			t.Fatalf("no chunk after %d, want %d", c.at, m.all[i].Seq)
		}
		return
	}
	if i == len(m.all) || m.all[i].Seq >= before {
		t.Fatalf("chunk %d after %d, want none before %d", got.Seq, c.at, before)
	}
	checkChunks(t, []Chunk{got}, m.all[i:i+1])
	c.at, m.sealed = got.Seq, max(m.sealed, got.Seq)
}

func TestLogAgainstModel(t *testing.T) {
	t.Parallel()
	for round := range 8 { // a hundred runs each
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, againstModel)
		})
	}
}

func againstModel(t *rapid.T) {
	m := newModel(t)
	defer m.close(t)
	actions := map[string]func(*rapid.T){
		"append":       m.append,
		"append more":  func(t *rapid.T) { m.append(t); m.append(t); m.trim(t) },
		"grow":         m.grow,
		"trim, grow":   func(t *rapid.T) { m.trim(t); m.grow(t) },
		"other event":  func(*rapid.T) { m.next++ },
		"trim":         m.trim,
		"read":         m.read,
		"newest":       m.newest,
		"walk":         m.walk,
		"walk on":      func(t *rapid.T) { m.walk(t); m.walk(t); m.walk(t) },
		"fault":        m.fault,
		"how far back": m.behind,
		"":             m.check,
	}
	for range 5 { // a file is not full in a few steps
		t.Repeat(actions)
	}
}
