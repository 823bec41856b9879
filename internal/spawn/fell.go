package spawn

// Kill kills the process and all that it has started. It returns at once; when
// Closed is reported all are dead, or can't be killed. After the exit, and after
// all that was written before, the streams end whoever holds them. When the
// process has exited already and is kept open by others, Kill kills these. What
// a closed process has left behind is its group's. Kill may be called again.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	if !p.tree.Fragile() {
		p.killGroup()
	}
	p.fell()
	abandon := p.state == announced // otherwise supervise will
	p.mu.Unlock()
	if abandon {
		p.abandon()
	}
}

// part hands the tree over to the group, once it is dead if it has been killed.
func (p *Process) part() {
	p.mu.Lock()
	p.parted = true
	p.mu.Unlock()
	p.felling.Wait()
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	p.group.keep(p.tree, dead)
}

// fell kills the tree, which may take a while. The caller holds the lock.
func (p *Process) fell() {
	if p.falling || p.dead || p.parted {
		return
	}
	p.falling = true
	p.felling.Go(func() {
		dead := p.tree.Kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.falling = false
		p.dead = dead
		p.killGroup() // nothing, unless the tree could not be killed
	})
}

// killGroup kills the process group, while its number is known to be ours. The
// caller holds the lock.
func (p *Process) killGroup() {
	if !p.reaped {
		p.child.kill()
	}
}
