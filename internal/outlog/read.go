package outlog

import (
	"encoding/base64"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Result is what a read returns.
type Result struct {
	// Chunks is a contiguous run. They share memory, but none of the log.
	Chunks []Chunk
	// Stopped: there are more chunks in the range, which were left out because
	// of a bound.
	Stopped bool
	// Gap tells of chunks that were dropped between the number to read from
	// and Chunks.
	Gap *Gap
}

// Read returns the chunks after a number and before another: as many as stay
// within maxBytes, but one at least. With or without that, there are not more
// than limits.ReadBytes, limits.ReadMessageBytes and limits.RetainedChunks allow.
func (l *Log) Read(after, before uint64, maxBytes *uint64) Result {
	r := reading{log: l, at: after, before: before, most: limits.ReadBytes}
	if maxBytes != nil {
		r.most = min(r.most, *maxBytes)
	}
	for r.step() {
	}
	l.tell()
	return r.result
}

// reading is a read in progress.
type reading struct {
	log    *Log
	at     uint64 // number of the newest chunk that was looked at
	before uint64
	most   uint64 // bytes
	total  uint64
	lost   bool // the last block was overwritten while it was read
	result Result
}

// admits reports whether one more chunk is within the bounds when the result
// has so many of so many bytes.
func (r *reading) admits(chunks int, total uint64, length int) bool {
	total += uint64(length)
	return chunks == 0 || chunks < limits.RetainedChunks && total <= r.most &&
		messageBytes(chunks+1, total) <= limits.ReadMessageBytes
}

// messageBytes returns how many bytes chunks take in a message, at most.
func messageBytes(chunks int, total uint64) int {
	const each = len(`{"seq":18446744073709551615,"stream":"stdout","chunk":""},`) + len("====")
	return base64.StdEncoding.EncodedLen(int(total)) + chunks*each
}

// step takes what is next: chunks of one block, or all in memory. It reports
// whether there may be more to take.
func (r *reading) step() bool {
	l := r.log
	if r.lost {
		l.work.Lock() // the writer is faster than us
		defer l.work.Unlock()
	}
	l.mu.Lock()
	if len(r.result.Chunks) == 0 {
		r.result.Gap = l.gap(r.at)
	} else if r.at < l.droppedSeq {
		l.mu.Unlock()
		r.result.Stopped = true // what follows is gone, as the next read finds
		return false
	}
	i := l.blockAfter(r.at)
	if i < 0 {
		defer l.mu.Unlock()
		r.memory()
		return false
	}
	b, id, file := *l.blocks.at(i), l.oldest+uint64(i), l.file
	l.mu.Unlock()
	if b.first >= r.before {
		return false
	}
	chunks, end, err := r.block(&b, file)
	if r.lost = !l.settle(id, err); r.lost {
		return true
	}
	for _, c := range chunks {
		r.total += uint64(len(c.Data))
		r.at = c.Seq
	}
	r.result.Chunks = append(r.result.Chunks, chunks...)
	r.result.Stopped = end == endOfBounds
	return end == endOfBlock
}

// memory takes chunks from memory. The caller holds the lock.
func (r *reading) memory() {
	l := r.log
	from := l.chunkAfter(r.at)
	to, total := from, r.total
	for ; to < l.chunks.len(); to++ {
		c := l.chunks.at(to)
		if c.seq >= r.before {
			break
		}
		if !r.admits(len(r.result.Chunks)+to-from, total, int(c.length)) {
			r.result.Stopped = true
			break
		}
		total += uint64(c.length)
	}
	if from == to {
		return
	}
	all := make([]byte, 0, total-r.total)
	if r.result.Chunks == nil {
		r.result.Chunks = make([]Chunk, 0, to-from)
	}
	for i := from; i < to; i++ {
		c, start := l.chunks.at(i), len(all)
		all = l.ring.copyOut(all, c.start, c.start+uint64(c.length))
		r.result.Chunks = append(r.result.Chunks, Chunk{c.seq, c.stream, all[start:len(all):len(all)]})
	}
	l.sealed = max(l.sealed, l.chunks.at(to-1).seq)
}

// end is why no more chunks were taken from a block.
type end int

const (
	endOfBlock end = iota
	endOfRange
	endOfBounds
)

// block reads those chunks of a block that are to be taken.
func (r *reading) block(b *block, file file) ([]Chunk, end, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	table, err := b.read(file, buffer, int(b.table))
	if err != nil {
		return nil, endOfBlock, err
	}
	w := walker{rest: table}
	for w.next() && w.last.seq <= r.at { // there is one after that
	}
	first, n, total, end := w, 0, r.total, endOfBlock
	for ok := true; ok && end == endOfBlock; {
		switch {
		case w.last.seq >= r.before:
			end = endOfRange
		case !r.admits(len(r.result.Chunks)+n, total, w.last.length):
			end = endOfBounds
		default:
			n++
			total += uint64(w.last.length)
			ok = w.next()
		}
	}
	data := make([]byte, total-r.total)
	if _, err := file.ReadAt(data, b.at+int64(b.tableInFile()+first.at)); err != nil {
		return nil, endOfBlock, err
	}
	chunks := make([]Chunk, n)
	for i, w := 0, first; i < n; i++ {
		length := w.last.length
		chunks[i] = Chunk{w.last.seq, w.last.stream, data[:length:length]}
		data = data[length:]
		w.next()
	}
	return chunks, end, nil
}
