package spawn

// Kill kills the process and all that it has started. It returns at once; when
// Closed is reported all are dead, or can't be killed. After the exit, and after
// all that was written before, the streams end whoever holds them. When the
// process has exited already and is kept open by others, Kill kills these. What
// a closed process has left behind is its group's. Kill may be called again.
func (p *Process) Kill() { p.killNow() }

// killNow does what Kill does, and returns what is closed when the tree has been
// killed.
func (p *Process) killNow() (felled <-chan struct{}) {
	p.mu.Lock()
	if !p.killed {
		p.killed = true
		close(p.doomed)
	}
	if !p.tree.Fragile() {
		p.killGroup()
	}
	p.fell()
	felled = p.felling
	abandon := p.state == announced // otherwise supervise will
	p.mu.Unlock()
	if abandon {
		p.abandon()
	}
	return felled
}

// hold keeps the tree from being handed over until let is called. It returns
// false if that has happened. Who only looks is also refused when it is about to
// happen: so looks don't put it off for ever.
func (p *Process) hold(look bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parted || look && p.parting {
		return false
	}
	p.holds++
	return true
}

// let ends what hold has begun.
func (p *Process) let() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.letLocked()
}

func (p *Process) letLocked() {
	if p.holds--; p.holds == 0 {
		p.unheld.Broadcast()
	}
}

// fell kills the tree, which may take a while. The caller holds the lock.
func (p *Process) fell() {
	if p.falling || p.dead || p.parted {
		return
	}
	p.falling = true
	felled := make(chan struct{})
	p.felling = felled
	p.holds++
	go func() {
		defer close(felled)
		dead := p.tree.Kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.falling = false
		p.dead = dead
		p.killGroup() // nothing, unless the tree could not be killed
		p.letLocked()
	}()
}

// killGroup kills the process group, while its number is known to be ours. The
// caller holds the lock.
func (p *Process) killGroup() {
	if !p.reaped {
		p.child.kill()
	}
}
