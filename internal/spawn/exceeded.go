package spawn

// Exceeded names the limit that a process has run into.
type Exceeded string

// Limits that a process may have run into. Others make system calls fail, of
// which only the process knows.
const (
	NotExceeded    Exceeded = ""
	ExceededMemory Exceeded = "memory"
	ExceededCPU    Exceeded = "cpu"
	ExceededFile   Exceeded = "file"
)

// Exceeded returns the limit that has ended the process. Of memory it is told when
// something of the tree has been killed for want of it and the process was ended
// by SIGKILL, or with the exit code 137, as a shell passes on its child's end; the
// other limits have to have ended the process itself. A process that we have
// killed, by [Process.Kill] or a signal, was ended by neither memory nor processor
// time. It is known when [Events].Exited is called.
func (p *Process) Exceeded() Exceeded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exceeded
}

// blame finds out which limit has ended the process. It is called when the
// process has exited and has not been reaped.
func (p *Process) blame(end ending) {
	if p.limits.none() {
		return
	}
	oom := end.code == codeKilled && p.tree.OutOfMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	ours := p.killed || p.struck
	switch {
	case oom && !ours:
		p.exceeded = ExceededMemory
	case p.limits.CPUSeconds > 0 && !ours && p.outOfTime(end):
		p.exceeded = ExceededCPU
	case p.limits.FileBytes > 0 && end.by(sigXFSZ):
		p.exceeded = ExceededFile
	}
}

// codeKilled is the exit code of a process that SIGKILL has ended, and of a shell
// whose child it has.
const codeKilled = 128 + 9

// outOfTime tells whether it was the limit on processor time that has ended the
// process: at first it gets a signal that it can ignore.
func (p *Process) outOfTime(end ending) bool {
	if end.by(sigXCPU) || !end.by(sigKill) || end.gone {
		return end.by(sigXCPU)
	}
	spent := spentCPU
	if p.confined != nil {
		spent = spentByReaped // the program was a child of the helper
	}
	return spent(p.child.pid) >= p.limits.CPUSeconds
}
