package process

import (
	"context"
	"time"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// Child is what a process needs of the operating system's process.
type Child interface {
	// PID returns the id at the operating system.
	PID() int
	// Write writes to standard input or the terminal; it blocks.
	Write(p []byte) error
	// CloseStdin ends standard input.
	CloseStdin()
	// Resize changes the size of the terminal.
	Resize(size spawn.Size) error
	// Signal sends a signal to the process group, and reports false if the
	// process has exited.
	Signal(sig spawn.Signal) (delivered bool, err error)
	// Terminate asks the process and all that it has started to end, kills what
	// is left when the grace or ctx is over, and returns who is dead and who is
	// not.
	Terminate(ctx context.Context, grace time.Duration) (killed, survivors []int)
	// Kill kills the process and all that it has started, and gives up its
	// streams.
	Kill()
	// Lingered tells, once the process has closed, whether others have held its
	// streams open beyond its exit.
	Lingered() bool
	// Mechanisms tells how limits are enforced.
	Mechanisms() spawn.Mechanisms
	// Exceeded tells, once the process has exited, which limit that was for.
	Exceeded() spawn.Exceeded
	// Denials returns what its sandbox has not let it do, as far as that is seen.
	// Nothing is added once it has exited.
	Denials() []plan.Denial
	// SetupFailure tells why its sandbox could not be set up, and nothing was
	// executed; nil if that is not so.
	SetupFailure() *spawn.SetupFailure
	// Silent returns a channel that is closed when all its streams have ended.
	Silent() <-chan struct{}
}

// exceeded returns the reason if a child has been ended by a limit.
func exceeded(c Child) protocol.EndReason {
	switch c.Exceeded() {
	case spawn.ExceededMemory:
		return protocol.ReasonMemory
	case spawn.ExceededCPU:
		return protocol.ReasonCPU
	case spawn.ExceededFile:
		return protocol.ReasonFileSize
	default:
		return ""
	}
}

// limitMechanisms tells how the limits that were asked for are enforced.
func (p *Process) limitMechanisms() *protocol.LimitMechanisms {
	p.mu.Lock()
	child, limits := p.child, p.limits
	p.mu.Unlock()
	if limits == nil || *limits == (protocol.ProcessLimits{}) {
		return nil
	}
	m := child.Mechanisms()
	return &protocol.LimitMechanisms{
		MemoryBytes: protocol.LimitMechanism(m.Memory),
		CPUSeconds:  protocol.LimitMechanism(m.CPU),
		Processes:   protocol.LimitMechanism(m.Processes),
		OpenFiles:   protocol.LimitMechanism(m.OpenFiles),
		FileBytes:   protocol.LimitMechanism(m.File),
	}
}
