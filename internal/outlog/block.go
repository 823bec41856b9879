package outlog

import (
	"encoding/binary"
	"errors"
	"sync"
)

// pageBytes is what the sizes of blocks in the file are multiples of: a page
// that is written only in part would have to be read first.
const pageBytes = 4 << 10

// block is a run of chunks in the file: a table that says what they are, then
// their bytes, then zeros up to a page. This description of it is in memory;
// blocks are large, so that there are few. The short table of a large block is
// there, too: a block of large chunks then has a round size, which the system
// writes faster.
type block struct {
	at      int64  // where it begins in the file
	start   uint64 // offset of its first byte
	ordinal uint64 // how many chunks were appended before it
	first   uint64 // number of its first chunk
	last    uint64 // and of its last one
	chunks  uint32
	table   uint32          // bytes of the table
	bytes   [streams]uint32 // of data
	short   [shortBytes]byte
}

const (
	// shortBytes is enough for the table of a block of the largest chunks.
	shortBytes = 48
	// largeBytes is the data of a block that is large.
	largeBytes = mostBatchBytes / 2
)

// data returns how many bytes of output are in the block.
func (b *block) data() int {
	total := 0
	for _, n := range b.bytes {
		total += int(n)
	}
	return total
}

// used returns how many bytes of the block there are to read.
func (b *block) used() int { return int(b.table) + b.data() }

// tableInFile returns how many bytes the table takes in the file.
func (b *block) tableInFile() int {
	if b.table <= shortBytes && b.data() >= largeBytes {
		return 0
	}
	return int(b.table)
}

// size returns how many bytes the block takes in the file.
func (b *block) size() int64 {
	used := int64(b.tableInFile() + b.data())
	return (used + pageBytes - 1) / pageBytes * pageBytes
}

// entry is what a table says of a chunk.
type entry struct {
	seq    uint64
	stream Stream
	length int
}

// An entry is two varints: how far its number is from the one before (the first
// from 0), and the length with the stream in its low bits. For a chunk of one
// byte that is two bytes.
const streamBits = 2

// appendEntry adds an entry to a table. before is the number of the last one.
func appendEntry(table []byte, before uint64, e entry) []byte {
	table = binary.AppendUvarint(table, e.seq-before)
	return binary.AppendUvarint(table, uint64(e.length)<<streamBits|uint64(e.stream))
}

// walker goes through the entries of a table.
type walker struct {
	rest []byte
	last entry
	at   int // where the data of last begins
}

// next moves to the next entry, and reports false at the end of the table or
// where it makes no sense.
func (w *walker) next() bool {
	step, n := binary.Uvarint(w.rest)
	if n <= 0 || step == 0 || w.last.seq+step < step {
		return false
	}
	word, m := binary.Uvarint(w.rest[n:])
	length := word >> streamBits
	stream := Stream(word & (1<<streamBits - 1))
	if m <= 0 || length == 0 || length > 1<<30 || stream >= streams {
		return false
	}
	w.at += w.last.length
	w.last = entry{seq: w.last.seq + step, stream: stream, length: int(length)}
	w.rest = w.rest[n+m:]
	return true
}

var errGarbled = errors.New("what is read is not what was written")

// check compares a table with the description of its block. After it one can
// walk through the table, and take the data that it speaks of, without a doubt.
func (b *block) check(table []byte) error {
	w := walker{rest: table}
	var chunks uint32
	var bytes [streams]uint64
	for w.next() {
		if chunks == 0 && w.last.seq != b.first {
			return errGarbled
		}
		chunks++
		bytes[w.last.stream] += uint64(w.last.length)
	}
	for stream, n := range b.bytes {
		if bytes[stream] != uint64(n) {
			return errGarbled
		}
	}
	if len(w.rest) != 0 || chunks != b.chunks || w.last.seq != b.last {
		return errGarbled
	}
	return nil
}

// buffers are for blocks that are being read.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// read reads the first n bytes of a block, which hold its table, and returns
// that when it has been checked.
func (b *block) read(file file, buffer *[]byte, n int) ([]byte, error) {
	if cap(*buffer) < n {
		*buffer = make([]byte, n)
	}
	*buffer = (*buffer)[:n]
	rest := *buffer
	if b.tableInFile() == 0 {
		rest = rest[copy(rest, b.short[:b.table]):]
	}
	if len(rest) > 0 {
		if _, err := file.ReadAt(rest, b.at); err != nil {
			return nil, err
		}
	}
	table := (*buffer)[:b.table]
	return table, b.check(table)
}

// settle says whether what was read of a block, without a lock, can be used:
// not if it was overwritten meanwhile. If it could not be read, it is lost with
// all that is older. The caller holds no lock, or work.
func (l *Log) settle(id uint64, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id < l.oldest {
		return false
	}
	if err != nil {
		l.dropBlocks(int(id-l.oldest) + 1)
		l.fault = err
		return false
	}
	return true
}
