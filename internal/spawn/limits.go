package spawn

import "github.com/airlock-exec/airlock/internal/spawn/tree"

// Limits bounds what a process may use; 0 is no limit. What can't be enforced
// is refused, with an [Error] of the kind [Unenforceable]. A program that runs as
// root may lift its limits, or leave the control groups that enforce them.
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

// Exceeded returns the limit that has ended the process: because of memory
// something of the tree has been killed, for the others it was the process
// itself. It is known when [Events].Exited is called.
func (p *Process) Exceeded() Exceeded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exceeded
}
