package tree

import (
	"sync"
	"syscall"
)

// walkPlace is what is known of a tree.
type walkPlace struct {
	owner *walk

	mu   sync.Mutex
	is   target // guarded by mu
	line *line  // guarded by mu; nil if there is none
	over bool   // guarded by mu; it is known that there are no members
}

func (p *walkPlace) target() target {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.is
}

func (p *walkPlace) enter(*syscall.SysProcAttr) error {
	p.update(func(t *target) { t.from = ticks() })
	if m := p.owner.marker(); m != nil {
		return m.set(p.is.mark)
	}
	return nil
}

func (p *walkPlace) leave() {
	if m := p.owner.marker(); m != nil {
		m.reset()
	}
}

func (p *walkPlace) started(pid int) error {
	p.update(func(t *target) { t.leader, t.to = pid, ticks() })
	return nil
}

func (p *walkPlace) reaping() {
	p.update(func(t *target) { t.reaped = ticks() })
}

// update changes what is known, in memory and in the ledger.
func (p *walkPlace) update(change func(*target)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.is)
	if p.line != nil {
		p.owner.ledger.write(p.line, p.is)
	}
}

func (p *walkPlace) kill() bool { return p.empty() || p.owner.hunter.join(p).wait() }

func (p *walkPlace) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over || p.is.leader == 0
}

// end tells that it is known that there are no members.
func (p *walkPlace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

// fragile: without marks a member is known by its parent only.
func (p *walkPlace) fragile() bool { return p.owner.marks == nil }

func (*walkPlace) broken(error) bool { return false }

func (p *walkPlace) release() {
	w := p.owner
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		return // it has been closed
	}
	delete(w.live, p)
	line := p.detach()
	if w.ledger != nil {
		w.ledger.put(line)
	}
	w.marks.put(p.is.mark)
}

// detach takes the line of a tree that is given up.
func (p *walkPlace) detach() (taken *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, p.line = p.line, nil
	return taken
}
