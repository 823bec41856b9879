package spawn

import "github.com/airlock-exec/airlock/internal/spawn/tree"

// judge finds out which limit has ended the process. It is called when the
// process has exited and has not been reaped.
func (p *Process) judge(end ending) {
	if p.limits.none() {
		return
	}
	oom := p.tree.OutOfMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case oom:
		p.exceeded = ExceededMemory
	case p.limits.CPUSeconds > 0 && !p.killed && !p.struck && p.outOfTime(end):
		p.exceeded = ExceededCPU
	case p.limits.FileBytes > 0 && end.by(sigXFSZ):
		p.exceeded = ExceededFile
	}
}

// outOfTime tells whether it was the limit on processor time that has ended the
// process: at first it gets a signal that it can ignore.
func (p *Process) outOfTime(end ending) bool {
	return end.by(sigXCPU) || end.by(sigKill) && !end.gone && spentCPU(p.child.pid) >= p.limits.CPUSeconds
}

// limit notes within which limits the process has been started.
func (p *Process) limit(limits Limits, t *tree.Tree) {
	if limits.none() {
		return
	}
	p.limits = limits
	p.mechanisms = limits.mechanisms(t)
}

// errNoGroup is for a bound that no control group can enforce.
func errNoGroup(e *tree.UnenforceableError) error {
	return unenforceable("a limit on %s can't be enforced: no control group can be made for it (%w). "+
		"Run the executor where it may make control groups: as a systemd service with Delegate=yes, "+
		"in a container with /sys/fs/cgroup mounted writable, or as root", e.Limit, e)
}
