//go:build unix && !linux

package tree

import (
	"syscall"
	"time"
)

// CanAsk tells whether Terminate does anything.
const CanAsk = true

// Terminate asks the process to end, also one that has been stopped.
func (m Member) Terminate() {
	m.send(syscall.SIGTERM)
	m.send(syscall.SIGCONT)
}

// Kill kills the process.
func (m Member) Kill() { m.send(syscall.SIGKILL) }

func (m Member) send(sig syscall.Signal) {
	if m.Alive() {
		_ = syscall.Kill(m.PID, sig)
	}
}

// Usage is not known here.
func (Member) Usage() (cpu time.Duration, memory uint64) { return 0, 0 }

// groupMembers returns the members of each of these process groups; 0 is none.
func groupMembers(groups []int) []Listing {
	all := make([]Listing, len(groups))
	for i, group := range groups {
		if group != 0 {
			all[i] = listGroup(group)
		}
	}
	return all
}
