package helper

import (
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// capabilities are a set of them, as capget and capset take it.
type capabilities [2]unix.CapUserData

func (c *capabilities) header() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
}

func (c *capabilities) get() error { return unix.Capget(c.header(), &c[0]) }

func (c *capabilities) has(capability uint) bool {
	return c[capability/32].Permitted&(1<<(capability%32)) != 0
}

// keep takes all from this thread but those in a mask.
func (c *capabilities) keep(mask uint64) error {
	for i := range c {
		have := c[i].Permitted & uint32(mask>>(32*i))
		c[i] = unix.CapUserData{Effective: have, Permitted: have}
	}
	return unix.Capset(c.header(), &c[0])
}

// judgesNeed is what it takes to look into programs that ask for judgement.
const judgesNeed = 1 << unix.CAP_SYS_PTRACE

// dropCapabilities takes all capabilities from this thread, and with it from what it
// executes, for ever. Other threads of the helper have theirs still, whom no program
// can reach.
func dropCapabilities() error {
	var own capabilities
	if err := own.get(); err != nil {
		return failed(plan.Capabilities, "", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failed(plan.Capabilities, "ambient ones", err)
	}
	// Without SETPCAP the bounding set can't be changed; there is nothing to bound
	// then: no file gives any with no_new_privs.
	if own.has(unix.CAP_SETPCAP) {
		for capability := uintptr(0); ; capability++ {
			err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
			if err == unix.EINVAL {
				break // the kernel knows no more
			}
			if err != nil {
				return failed(plan.Capabilities, "the bounding set", err)
			}
		}
	}
	if err := own.keep(0); err != nil {
		return failed(plan.Capabilities, "", err)
	}
	var left capabilities
	if err := left.get(); err != nil || left != (capabilities{}) {
		return failed(plan.Capabilities, "some are left", unix.EPERM)
	}
	return nil
}

// restrict restricts this thread, and what it executes, for ever. It returns where
// judgement is asked for, or -1.
func restrict(c *plan.Confinement) (listener int, err error) {
	if c.Privileged && len(c.Filter) == 0 && c.Landlock == nil {
		return -1, nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, failed(plan.Capabilities, "no_new_privs", err)
	}
	if c.Landlock != nil {
		if err := applyLandlock(c.Landlock); err != nil {
			return -1, failed(plan.Landlocking, err.Error(), err)
		}
	}
	if len(c.Filter) == 0 {
		return -1, nil
	}
	listener, err = installFilter(c.Filter)
	return listener, failed(plan.Filtering, "", err)
}
