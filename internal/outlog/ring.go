package outlog

// firstRing is the size of the first ring: most processes print little.
const firstRing = 4 << 10

// ring holds the newest bytes of a log. Offsets count the bytes ever appended;
// offset o lies at o modulo the size of the ring.
//
// Bytes that are kept are not written to, and a larger ring is a new slice, so
// that pieces can be read without a lock while what they hold is kept.
type ring struct {
	buf []byte
	end uint64 // offset behind the newest byte
	// top is a size between two powers of two that is enough for a log whose
	// memory is full: its owner does not pay for twice as much.
	top uint64

	// Pieces that are lent are not written to either, also when they are not
	// kept any more. A larger ring is a new one, of which none is lent.
	lent      int    // pieces
	lentFrom  uint64 // offset of the oldest of them
	exchanges int    // of buf
}

// store copies p behind the end, in a larger ring if it has to be. kept is how
// many bytes before the end are to be kept.
func (r *ring) store(p []byte, kept uint64) {
	need, size := kept+uint64(len(p)), uint64(len(r.buf))
	switch {
	case need > size:
		r.resize(need, kept)
	case r.lent > 0 && r.end+uint64(len(p)) > r.lentFrom+size:
		r.resize(size, kept)
	}
	n := copy(r.buf[r.end%uint64(len(r.buf)):], p)
	copy(r.buf, p[n:])
	r.end += uint64(len(p))
}

// resize moves what is kept to a ring that holds need bytes. Sizes are powers
// of two, so that output of any length costs few moves.
func (r *ring) resize(need, kept uint64) {
	size := uint64(firstRing)
	for size < need {
		size *= 2
	}
	if need <= r.top {
		size = min(size, r.top)
	}
	buf := make([]byte, size)
	for at := r.end - kept; at < r.end; {
		at += uint64(copy(buf[at%size:], r.piece(at, r.end)))
	}
	r.buf = buf
	r.lent = 0
	r.exchanges++
}

// lend returns the bytes from start to end, which are kept now, if they lie in
// one piece, and what giveBack wants to know. Until then they stay as they are.
func (r *ring) lend(start, end uint64) (piece []byte, loan int) {
	piece = r.piece(start, end)
	if uint64(len(piece)) < end-start {
		return nil, 0
	}
	if r.lent == 0 || start < r.lentFrom {
		r.lentFrom = start
	}
	r.lent++
	return piece, r.exchanges
}

// giveBack ends a loan.
func (r *ring) giveBack(loan int) {
	if loan == r.exchanges {
		r.lent--
	}
}

// piece returns the bytes from start on, as far as they lie in one piece and
// before end.
func (r *ring) piece(start, end uint64) []byte {
	size := uint64(len(r.buf))
	at := start % size
	return r.buf[at:min(size, at+end-start)]
}

// copyOut appends the bytes from start to end to dst.
func (r *ring) copyOut(dst []byte, start, end uint64) []byte {
	for start < end {
		piece := r.piece(start, end)
		dst = append(dst, piece...)
		start += uint64(len(piece))
	}
	return dst
}
