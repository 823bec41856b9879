package tree

import "golang.org/x/sys/unix"

// zombie is the state of a process that waits to be reaped (SZOMB).
const zombie = 5

// Alive reports whether the process is alive. A zombie is not.
func (m Member) Alive() bool {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", m.PID)
	return err == nil && p.Proc.P_stat != zombie && born(&p.Proc) == m.born
}

func born(p *unix.ExternProc) uint64 {
	return uint64(p.P_starttime.Sec)<<20 | uint64(p.P_starttime.Usec)
}

// listGroup returns the members of a process group.
func listGroup(group int) Listing {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return Listing{}
	}
	l := Listing{Complete: true}
	for i := range all {
		if p := &all[i].Proc; p.P_stat != zombie {
			l.Members = append(l.Members, Member{PID: int(p.P_pid), born: born(p)})
		}
	}
	return l
}
