package outlog

import (
	"sync"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// Stream names where output comes from.
type Stream = spawn.Stream

// streams is how many there are.
const streams = spawn.Terminal + 1

// Config says what a log may hold.
type Config struct {
	// MemoryBytes bounds the output in memory. Zero means limits.RetainedBytes.
	MemoryBytes int
	// MemoryChunks bounds the same by number. Zero means limits.RetainedChunks.
	MemoryChunks int
	// Spill is where to put what leaves memory. Nil means that it is dropped.
	Spill *Spill
}

// Chunk is a piece of output.
type Chunk struct {
	Seq    uint64
	Stream Stream
	Data   []byte
}

// Gap tells of output that was dropped.
type Gap struct {
	// FirstSeq is the oldest number that is kept, 0 if there is none.
	FirstSeq uint64
	// Dropped is how many bytes of each stream had lower numbers, since the
	// process began.
	Dropped [streams]uint64
}

// Log keeps the output of one process.
type Log struct {
	memoryBytes  uint64
	memoryChunks int
	batchBytes   int // bound on the data of a block
	batchChunks  int // bound on its chunks
	spill        *Spill

	// work is held by whoever writes to the file or closes it, and taken
	// before mu.
	work  sync.Mutex
	store store    // guarded by work
	table []byte   // of the block that is being written; guarded by work
	parts [][]byte // what it consists of; guarded by work

	// closed is set under mu.
	closed atomic.Bool

	mu     sync.Mutex   // guards what follows
	ring   ring         // the bytes of the chunks in memory
	chunks deque[chunk] // in memory
	blocks deque[block] // in the file, all older than those in memory
	oldest uint64       // how many blocks there were before the oldest one
	file   file         // what the blocks are in; set under both locks
	count  uint64       // chunks ever appended
	newest uint64       // number of the newest one
	// sealed is the highest number that somebody has seen, and writing the
	// highest that is being written to the file: up to them chunks can't grow
	// any more.
	sealed, writing uint64
	// retryAt is the offset from which on the file is tried again after a
	// failure.
	retryAt    uint64
	dropped    [streams]uint64
	droppedSeq uint64 // the newest number that was dropped
	fault      error  // of the file, that is still to be told
}

// chunk is a piece of output in memory. Chunks are contiguous: each starts where
// the one before ends, and the last ends at the end of the ring.
type chunk struct {
	seq    uint64
	start  uint64
	length uint32
	stream Stream
}

// New returns an empty log, which its owner has to close.
func New(config Config) *Log {
	if config.MemoryBytes == 0 {
		config.MemoryBytes = limits.RetainedBytes
	}
	if config.MemoryChunks == 0 {
		config.MemoryChunks = limits.RetainedChunks
	}
	l := &Log{
		memoryBytes:  uint64(config.MemoryBytes),
		memoryChunks: config.MemoryChunks,
		batchBytes:   min(max(config.MemoryBytes/2, 1), mostBatchBytes),
		batchChunks:  max(config.MemoryChunks/4, 1),
		spill:        config.Spill,
	}
	// What fits until it is full, and what streams append while a block is
	// being written, one chunk each.
	l.ring.top = l.memoryBytes + l.memoryBytes/2 + 4*limits.ChunkBytes
	return l
}

// Append adds a chunk of 1 to limits.ChunkBytes bytes, which it copies. Numbers
// rise, not necessarily by one.
func (l *Log) Append(seq uint64, s Stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() || len(p) == 0 {
		return
	}
	if seq <= l.newest {
		panic("outlog: chunk number out of order")
	}
	start := l.ring.end
	l.ring.store(p, l.inMemory())
	l.chunks.push(chunk{seq: seq, start: start, length: uint32(len(p)), stream: s})
	l.count++
	l.newest = seq
}

// Grow appends p to the newest chunk if that has this number and stream, has
// room, and has not been seen by anybody. It reports whether it did.
func (l *Log) Grow(seq uint64, s Stream, p []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chunks.len() == 0 || seq <= max(l.sealed, l.writing) {
		return false
	}
	last := l.chunks.at(l.chunks.len() - 1)
	if last.seq != seq || last.stream != s || int(last.length)+len(p) > limits.ChunkBytes {
		return false
	}
	l.ring.store(p, l.inMemory())
	last.length += uint32(len(p))
	return true
}

// Behind returns how many bytes there are after a number; chunks count at least
// their share of what memory may hold, so that tiny ones count too. What is in
// the file counts in whole blocks.
func (l *Log) Behind(seq uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	start, ordinal := l.ring.end, l.count
	if i := l.blockAfter(seq); i >= 0 {
		b := l.blocks.at(i)
		start, ordinal = b.start, b.ordinal
	} else if i := l.chunkAfter(seq); i < l.chunks.len() {
		start, ordinal = l.chunks.at(i).start, l.count-uint64(l.chunks.len()-i)
	}
	return max(l.ring.end-start, (l.count-ordinal)*(l.memoryBytes/uint64(l.memoryChunks)))
}

// Close releases the file and the memory. Nothing can be read or appended from
// then on.
func (l *Log) Close() {
	l.work.Lock()
	defer l.work.Unlock()
	l.mu.Lock()
	l.closed.Store(true)
	l.oldest += uint64(l.blocks.len())
	l.blocks, l.chunks, l.ring.buf, l.file = deque[block]{}, deque[chunk]{}, nil, nil
	l.mu.Unlock()
	l.store.close(l.spill)
	l.table, l.parts = nil, nil
}

// inMemory returns how many bytes are in memory. The caller holds the lock.
func (l *Log) inMemory() uint64 {
	if l.chunks.len() == 0 {
		return 0
	}
	return l.ring.end - l.chunks.at(0).start
}

// blockAfter returns the place of the block that holds the first kept chunk
// after a number, or -1 if that is not in the file. The caller holds the lock.
func (l *Log) blockAfter(seq uint64) int {
	n := l.blocks.len()
	if n == 0 || l.blocks.at(n-1).last <= seq {
		return -1
	}
	return l.blocks.search(func(b *block) bool { return b.last > seq })
}

// chunkAfter returns the place of the first chunk in memory after a number. The
// caller holds the lock.
func (l *Log) chunkAfter(seq uint64) int {
	return l.chunks.search(func(c *chunk) bool { return c.seq > seq })
}

// gap returns what was dropped, if any of it was after a number. The caller
// holds the lock.
func (l *Log) gap(after uint64) *Gap {
	if after >= l.droppedSeq {
		return nil
	}
	gap := &Gap{Dropped: l.dropped}
	if l.blocks.len() > 0 {
		gap.FirstSeq = l.blocks.at(0).first
	} else if l.chunks.len() > 0 {
		gap.FirstSeq = l.chunks.at(0).seq
	}
	return gap
}
