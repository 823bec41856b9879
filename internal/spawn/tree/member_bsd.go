//go:build unix && !linux

package tree

import (
	"syscall"
	"time"
)

// Alive reports whether there is a process of that number.
func (m Member) Alive() bool { return syscall.Kill(m.PID, 0) != syscall.ESRCH }

// CanAsk tells whether Terminate does anything.
const CanAsk = true

// Terminate asks the process to end, also one that has been stopped.
func (m Member) Terminate() {
	_ = syscall.Kill(m.PID, syscall.SIGTERM)
	_ = syscall.Kill(m.PID, syscall.SIGCONT)
}

// Kill kills the process.
func (m Member) Kill() { _ = syscall.Kill(m.PID, syscall.SIGKILL) }

// Usage is not known here.
func (Member) Usage() (cpu time.Duration, memory uint64) { return 0, 0 }
