package tree

import "golang.org/x/sys/unix"

// zombie is the state of a process that waits to be reaped (SZOMB).
const zombie = 5

// groupMembers returns the members of a process group.
func groupMembers(group int) (found []Member, complete bool) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil, false
	}
	for i := range all {
		if p := &all[i].Proc; p.P_stat != zombie {
			found = append(found, Member{PID: int(p.P_pid), born: uint64(p.P_starttime.Sec)<<20 | uint64(p.P_starttime.Usec)})
		}
	}
	return found, true
}
