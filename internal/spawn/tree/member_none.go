//go:build unix && !linux && !darwin

package tree

import "syscall"

// Alive reports whether there is a process of that number.
func (m Member) Alive() bool { return syscall.Kill(m.PID, 0) != syscall.ESRCH }

// listGroup returns the leader of a process group, as others can't be listed here.
func listGroup(group int) Listing {
	if syscall.Kill(group, 0) == syscall.ESRCH {
		return Listing{Complete: true}
	}
	return Listing{Members: []Member{{PID: group}}}
}
