package process

import (
	"sort"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// outputLog keeps the newest output of a process in a ring of bytes. It is not
// locked: the process that owns it does that.
//
// Offsets count the bytes ever appended; offset o lies at o modulo the size of
// the ring. The chunks are contiguous: each starts where the one before ends,
// and the last ends at end.
type outputLog struct {
	ring   []byte
	chunks []chunk // oldest first, by rising seq
	end    uint64

	dropped    map[spawn.Stream]uint64 // bytes, in all
	droppedSeq uint64                  // the newest number that was dropped
	// sealed is the highest sequence number that somebody has seen: its chunk
	// can't grow any more.
	sealed uint64
}

// chunk is a piece of output inside the ring.
type chunk struct {
	seq    uint64
	start  uint64
	length int
	stream spawn.Stream
}

// retained returns how many bytes are kept.
func (l *outputLog) retained() uint64 {
	if len(l.chunks) == 0 {
		return 0
	}
	return l.end - l.chunks[0].start
}

// grow appends p to the chunk with this number, if that is the newest one, of
// the same stream, has room and has not been seen by anybody.
func (l *outputLog) grow(seq uint64, stream spawn.Stream, p []byte) bool {
	if len(l.chunks) == 0 || seq <= l.sealed {
		return false
	}
	last := &l.chunks[len(l.chunks)-1]
	if last.seq != seq || last.stream != stream || last.length+len(p) > limits.ChunkBytes {
		return false
	}
	l.store(p)
	last.length += len(p)
	return true
}

// append adds a chunk.
func (l *outputLog) append(seq uint64, stream spawn.Stream, p []byte) {
	start := l.end
	l.store(p)
	l.chunks = append(l.chunks, chunk{seq: seq, start: start, length: len(p), stream: stream})
}

// store copies p behind the end, in a larger ring if it has to be.
func (l *outputLog) store(p []byte) {
	need := l.retained() + uint64(len(p))
	if need > uint64(len(l.ring)) {
		l.resize(need)
	}
	size := uint64(len(l.ring))
	n := copy(l.ring[l.end%size:], p)
	copy(l.ring, p[n:])
	l.end += uint64(len(p))
}

// resize moves what is kept to a ring that holds need bytes. Sizes are powers
// of two, so that output of any length costs few moves.
func (l *outputLog) resize(need uint64) {
	size := uint64(4096)
	for size < need {
		size *= 2
	}
	ring := make([]byte, size)
	for at := l.end - l.retained(); at < l.end; {
		n := copy(ring[at%size:], l.piece(at, l.end))
		at += uint64(n)
	}
	l.ring = ring
}

// piece returns the bytes from start on, as far as they lie in one piece and
// before end.
func (l *outputLog) piece(start, end uint64) []byte {
	size := uint64(len(l.ring))
	at := start % size
	return l.ring[at:min(size, at+end-start)]
}

// copyOut appends the bytes of a chunk to dst.
func (l *outputLog) copyOut(dst []byte, c chunk) []byte {
	end := c.start + uint64(c.length)
	for at := c.start; at < end; {
		piece := l.piece(at, end)
		dst = append(dst, piece...)
		at += uint64(len(piece))
	}
	return dst
}

// evict drops the oldest chunks until the rest, and a chunk of so many bytes if
// that is not zero, are within the bounds; but none above the sequence number
// pinned.
func (l *outputLog) evict(pinned uint64, more int) {
	drop := 0
	kept := l.retained() + uint64(more)
	chunks := len(l.chunks) + min(more, 1)
	for drop < len(l.chunks) {
		c := l.chunks[drop]
		within := kept <= limits.RetainedBytes && chunks-drop <= limits.RetainedChunks
		if within || c.seq > pinned {
			break
		}
		l.droppedSeq = c.seq
		if l.dropped == nil {
			l.dropped = map[spawn.Stream]uint64{}
		}
		l.dropped[c.stream] += uint64(c.length)
		kept -= uint64(c.length)
		drop++
	}
	l.chunks = l.chunks[drop:]
}

// after returns the kept chunks with higher sequence numbers, oldest first.
func (l *outputLog) after(seq uint64) []chunk {
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].seq > seq })
	return l.chunks[i:]
}
