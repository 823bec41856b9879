package client

import "sync"

// piece is a block that is under way.
type piece struct {
	offset, end int64
	done        bool
}

// progress is how far a file has been written.
type progress struct {
	mu      sync.Mutex
	changed *sync.Cond
	pieces  []*piece // in their order, from the first that is not written
	busy    int      // how many are under way
	behind  int64    // where the last of them ends
	most    int64    // up to where something is known to have been written
	err     error    // the first one
}

func (p *progress) init(offset int64) {
	p.changed = sync.NewCond(&p.mu)
	p.behind = offset
}

// begin notes that a block goes on its way.
func (p *progress) begin(offset int64, size int) *piece {
	p.mu.Lock()
	defer p.mu.Unlock()
	begun := &piece{offset: offset, end: offset + int64(size)}
	p.pieces = append(p.pieces, begun)
	p.behind = begun.end
	p.busy++
	return begun
}

// end notes what has become of it.
func (p *progress) end(ended *piece, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if err == nil {
		ended.done = true
		p.most = max(p.most, ended.end)
	} else if p.err == nil {
		p.err = err
	}
	for len(p.pieces) > 0 && p.pieces[0].done {
		p.pieces[0] = nil
		p.pieces = p.pieces[1:]
	}
	p.changed.Broadcast()
}

// wait waits until nothing is under way, and returns the first error.
func (p *progress) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.busy > 0 {
		p.changed.Wait()
	}
	return p.err
}

// failure returns the first error.
func (p *progress) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// confirmed returns up to where everything is written.
func (p *progress) confirmed() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pieces) > 0 {
		return p.pieces[0].offset
	}
	return p.behind
}

// reached notes that something is written up to an offset.
func (p *progress) reached(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(p.most, offset)
}

// furthest returns the end of what is known to have been written.
func (p *progress) furthest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}
