package outlog

import "errors"

// store is the file of a log, used as a ring.
//
// Each block begins where the one before ends, or at 0 when it does not fit
// there. So those at next and behind are what is left of the lap before, in
// order, and older than those before next.
type store struct {
	file file  // nil until it is needed
	next int64 // where the next block goes
	size int64 // of what the file has been written to; counted by the Spill
}

// close gives up the file.
func (s *store) close(spill *Spill) {
	if s.file != nil {
		_ = s.file.Close() // nothing in it is wanted any more
		spill.release(s.size)
	}
	*s = store{}
}

var errTooSmall = errors.New("what it may hold is less than one block")

// write puts the block that batch has returned into the file. The caller holds
// work.
func (l *Log) write(b *block) error {
	s, size := &l.store, b.size()
	if size > l.spill.perLog {
		return errTooSmall
	}
	at := s.next
	if at+size > l.spill.perLog {
		at = 0
	}
	err := l.writeAt(b, at)
	if err != nil && isFull(err) && at > 0 && s.size >= max(size, l.leastFile()) {
		// The file is as large as it gets for now. What failed half way lies
		// where nothing is kept.
		err = l.writeAt(b, 0)
	}
	return err
}

// leastFile is the size from which on a file is worth having when it can't grow.
func (l *Log) leastFile() int64 {
	return min(4*int64(l.batchBytes), l.spill.perLog/2)
}

// writeAt writes a block at a place in the file. The caller holds work.
func (l *Log) writeAt(b *block, at int64) error {
	s := &l.store
	end := at + b.size()
	more := max(0, end-s.size)
	if !l.spill.reserve(more) {
		return errTotal
	}
	if s.file == nil {
		file, err := l.spill.open(l.spill.dir)
		if err != nil {
			l.spill.release(more)
			return err
		}
		s.file = file
	}
	l.clear(at, end)
	if err := s.file.writeParts(l.parts, at); err != nil {
		l.spill.release(more)
		if more > 0 {
			_ = s.file.Truncate(s.size) // as far as it is counted
		}
		return err
	}
	if least := l.leastFile(); s.size < least && s.size+more >= least {
		l.spill.worked()
	}
	s.next = end
	s.size += more
	b.at = at
	l.moved(b)
	return nil
}

// clear drops the blocks that lie where another one is to be written. The caller
// holds work.
func (l *Log) clear(at, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := 0
	if at < l.store.next { // a new lap: the lap before has ended
		for old < l.blocks.len() && l.blocks.at(old).at >= l.store.next {
			old++
		}
		l.store.next = at
	}
	for old < l.blocks.len() {
		if b := l.blocks.at(old); b.at < at || b.at >= end {
			break
		}
		old++
	}
	l.dropBlocks(old)
}
