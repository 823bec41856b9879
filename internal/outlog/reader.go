package outlog

// Reader walks through logs, chunk by chunk. It holds the block of the file that
// it is in, of one log at a time, and nothing once it has reached memory. Its
// zero value is ready.
type Reader struct {
	own   []byte // a small chunk that comes from memory
	owner *Log   // of a large one, which is lent; nil if none is
	loan  int
	log   *Log // whose block it is; nil without one
	block block
	held  *[]byte // what is in the block
	walk  walker
}

// Next returns the first chunk after a number and before another, if there is
// one. Its data is valid until the next call. A gap comes with the chunk that
// follows it, or alone.
func (r *Reader) Next(l *Log, after, before uint64) (Chunk, *Gap, bool) {
	r.giveBack()
	if r.Holds(l, after) {
		chunk, ok := r.inBlock(after, before)
		return chunk, nil, ok
	}
	r.Release()
	chunk, gap, ok, lost := r.find(l, after, before, false)
	if lost {
		for lost {
			chunk, gap, ok, lost = r.find(l, after, before, true)
		}
		l.tell()
	}
	return chunk, gap, ok
}

// Holds reports whether the first chunk after a number is in the block that is
// held: to take it costs no I/O.
func (r *Reader) Holds(l *Log, after uint64) bool {
	return r.log == l && after >= r.block.first && after < r.block.last && !l.closed.Load()
}

// Release lets go of the block that the reader holds. The next call reads it
// again if need be.
func (r *Reader) Release() {
	r.giveBack()
	if r.held != nil {
		buffers.Put(r.held)
	}
	r.log, r.held, r.walk = nil, nil, walker{}
}

// inBlock returns the first chunk after a number, which is in the block that is
// held. What is held stays good when the block is dropped from the log: for who
// has got this far, nothing is missing.
func (r *Reader) inBlock(after, before uint64) (Chunk, bool) {
	w := r.walk
	if after < w.last.seq {
		w = r.start()
	}
	for w.next() && w.last.seq <= after { // there is one after that
	}
	if w.last.seq >= before {
		return Chunk{}, false
	}
	r.walk = w
	at := int(r.block.table) + w.at
	return Chunk{w.last.seq, w.last.stream, (*r.held)[at : at+w.last.length]}, true
}

func (r *Reader) start() walker { return walker{rest: (*r.held)[:r.block.table]} }

// find looks for the first chunk after a number, and reads its block if it is in
// the file. It reports as lost a block that could not be used.
func (r *Reader) find(l *Log, after, before uint64, alone bool) (c Chunk, gap *Gap, ok, lost bool) {
	if alone {
		l.work.Lock() // the writer is faster than us, or the file is broken
		defer l.work.Unlock()
	}
	l.mu.Lock()
	gap = l.gap(after)
	i := l.blockAfter(after)
	if i < 0 {
		defer l.mu.Unlock()
		c, ok = r.inMemory(l, after, before)
		return c, gap, ok, false
	}
	b, id, file := *l.blocks.at(i), l.oldest+uint64(i), l.file
	l.mu.Unlock()
	if b.first >= before {
		return Chunk{}, gap, false, false
	}
	held := buffers.Get().(*[]byte)
	_, err := b.read(file, held, b.used())
	if !l.settle(id, err) {
		buffers.Put(held)
		return Chunk{}, nil, false, true
	}
	r.log, r.block, r.held = l, b, held
	r.walk = r.start()
	c, ok = r.inBlock(after, before)
	return c, gap, ok, false
}

// inMemory copies the first chunk after a number from memory. The caller holds
// the lock of the log.
func (r *Reader) inMemory(l *Log, after, before uint64) (Chunk, bool) {
	i := l.chunkAfter(after)
	if i == l.chunks.len() {
		return Chunk{}, false
	}
	c := l.chunks.at(i)
	if c.seq >= before {
		return Chunk{}, false
	}
	l.sealed = max(l.sealed, c.seq)
	end := c.start + uint64(c.length)
	if c.length >= lentBytes {
		if piece, loan := l.ring.lend(c.start, end); piece != nil {
			r.owner, r.loan = l, loan
			return Chunk{c.seq, c.stream, piece}, true
		}
	}
	r.own = l.ring.copyOut(r.own[:0], c.start, end)
	return Chunk{c.seq, c.stream, r.own}, true
}

// lentBytes is the size from which on a chunk is worth the care not to copy it.
const lentBytes = 16 << 10

// giveBack ends the loan of a chunk.
func (r *Reader) giveBack() {
	if l := r.owner; l != nil {
		l.mu.Lock()
		l.ring.giveBack(r.loan)
		l.mu.Unlock()
		r.owner = nil
	}
}
