package spawn

import "github.com/airlock-exec/airlock/internal/spawn/tree"

// Limits bounds what a process may use; 0 is no limit. What can't be enforced
// is refused, with an [Error] of the kind [Unenforceable].
//
// Limits guard against accidents. A program that has the rights of the executor
// can lift those that are control groups, or leave these, wherever the executor
// could make them: as root, and also where they are delegated to its user, as by
// Delegate=yes of systemd. Root may raise rlimits, too. Against such a program
// limits hold only once it is confined, so that it can't write to control groups.
type Limits struct {
	// MemoryBytes bounds the memory of the process and all that it starts
	// together. Who goes beyond it is killed: by version 2 of control groups all
	// of them, by version 1 as many as it takes.
	MemoryBytes uint64
	// CPUSeconds bounds the processor time of each program: beyond it comes
	// SIGXCPU, a second later SIGKILL.
	CPUSeconds uint64
	// Processes bounds how many processes and threads there may be of the
	// process and all that it starts together.
	Processes uint64
	// OpenFiles bounds the descriptors of each program.
	OpenFiles uint64
	// FileBytes bounds the size of each file that is written: beyond it comes
	// SIGXFSZ.
	FileBytes uint64
}

func (l *Limits) none() bool { return *l == Limits{} }

// Mechanism names what enforces a limit.
type Mechanism = tree.Mechanism

// Mechanisms by which a limit is enforced.
const (
	Cgroup2 Mechanism = tree.ByCgroup2
	Cgroup1 Mechanism = tree.ByCgroup1
	Rlimit  Mechanism = "rlimit" // of each program
)

// Mechanisms names what enforces each limit; those that were not asked for are
// empty.
type Mechanisms struct {
	Memory, CPU, Processes, OpenFiles, File Mechanism
}

// Mechanisms returns what enforces the limits of the process.
func (p *Process) Mechanisms() Mechanisms { return p.mechanisms }

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
