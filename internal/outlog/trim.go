package outlog

// mostBatchBytes bounds the data of a block: enough that a write costs little
// beside its bytes, and little enough that a block is quickly read.
const mostBatchBytes = 512 << 10

// Trim brings memory back within its bounds. The oldest chunks go to the file;
// where that does not work they are dropped, but none with a number above
// pinned. Without a reader that holds back the child that is math.MaxUint64.
//
// It is to be called after Append and Grow, by whoever has the time, but by who
// appends when the log is full. Of several callers one does the work and the
// others wait, so that nobody who appends gets far ahead of the disk.
func (l *Log) Trim(pinned uint64) {
	l.mu.Lock()
	over := l.over()
	l.mu.Unlock()
	if !over {
		return
	}
	l.trim(pinned)
	l.tell()
}

func (l *Log) trim(pinned uint64) {
	l.work.Lock()
	defer l.work.Unlock()
	for {
		l.mu.Lock()
		if !l.over() {
			l.mu.Unlock()
			return
		}
		if l.spill == nil || l.ring.end < l.retryAt {
			l.drop(pinned)
			l.mu.Unlock()
			return
		}
		b := l.batch()
		l.mu.Unlock()
		err := l.write(&b)
		clear(l.parts) // they hold on to the ring
		if err != nil {
			l.giveUp(err)
		}
	}
}

// Full reports whether memory is so far beyond its bounds that it can't wait for
// somebody else to bring it back.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chunks.len() > l.memoryChunks+l.memoryChunks/2 || l.inMemory() > l.memoryBytes+l.memoryBytes/2
}

// over reports whether memory is beyond its bounds. The caller holds the lock.
func (l *Log) over() bool {
	return l.chunks.len() > l.memoryChunks || l.inMemory() > l.memoryBytes
}

// drop drops the oldest chunks in memory until it is within its bounds, but
// none with a number above pinned. The caller holds the lock; the file is empty.
func (l *Log) drop(pinned uint64) {
	for l.over() {
		c := l.chunks.at(0)
		if c.seq > pinned {
			return
		}
		l.dropped[c.stream] += uint64(c.length)
		l.droppedSeq = c.seq
		l.chunks.pop(1)
	}
}

// dropBlocks drops the oldest n blocks. The caller holds the lock.
func (l *Log) dropBlocks(n int) {
	for i := range n {
		b := l.blocks.at(i)
		for stream, bytes := range b.bytes {
			l.dropped[stream] += uint64(bytes)
		}
		l.droppedSeq = b.last
	}
	l.blocks.pop(n)
	l.oldest += uint64(n)
}

// batch returns a block of the oldest chunks in memory, and puts together what
// it consists of. The caller holds both locks.
func (l *Log) batch() block {
	first := l.chunks.at(0)
	b := block{start: first.start, first: first.seq, ordinal: l.count - uint64(l.chunks.len())}
	end := b.start
	l.table = l.table[:0]
	for i := range min(l.chunks.len(), l.batchChunks) {
		c := l.chunks.at(i)
		size := end - b.start + uint64(c.length)
		if i > 0 && size > uint64(l.batchBytes) {
			break
		}
		l.table = appendEntry(l.table, b.last, entry{c.seq, c.stream, int(c.length)})
		b.last = c.seq
		b.bytes[c.stream] += c.length
		b.chunks++
		end = b.start + size
	}
	b.table = uint32(len(l.table))
	l.writing = b.last

	l.parts = l.parts[:0]
	if b.tableInFile() > 0 {
		l.parts = append(l.parts, l.table)
	} else {
		copy(b.short[:], l.table)
	}
	for at := b.start; at < end; {
		piece := l.ring.piece(at, end)
		l.parts = append(l.parts, piece)
		at += uint64(len(piece))
	}
	if rest := b.size() - int64(b.tableInFile()+b.data()); rest > 0 {
		l.parts = append(l.parts, zeros[:rest])
	}
	return b
}

var zeros [pageBytes]byte

// moved puts a block that is in the file into the index, and its chunks out of
// memory. The caller holds work.
func (l *Log) moved(b *block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = l.store.file
	l.blocks.push(*b)
	l.chunks.pop(int(b.chunks))
	l.writing = 0
}

// giveUp drops what is in the file, as a hole between that and what is in memory
// is none that a Gap could tell of. The caller holds work.
func (l *Log) giveUp(cause error) {
	l.mu.Lock()
	l.dropBlocks(l.blocks.len())
	l.file, l.writing, l.fault = nil, 0, cause
	l.retryAt = l.ring.end + uint64(l.batchBytes)
	l.mu.Unlock()
	l.store.close(l.spill)
}
