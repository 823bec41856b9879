package doctor

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prctlOut is a prctl that writes its answer to where it is told to.
func prctlOut(option uintptr, to *int32) error {
	_, _, errno := unix.Syscall6(unix.SYS_PRCTL, option, uintptr(unsafe.Pointer(to)), 0, 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// landlockVersion implements system.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return int(version), nil
}

// seccompAction implements system.
func seccompAction(action uint32) error {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

// seccompFlag implements system. Flags are looked at before the filter, and there
// is none: the fault tells that they are fine.
func seccompFlag(flag uintptr) error {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flag, 0)
	if errno != unix.EFAULT {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}

// mountAttributes implements system. The calls are such that the kernel refuses them
// before it looks at privileges; who refuses them otherwise is a filter.
func mountAttributes() error {
	for _, call := range []struct {
		name   string
		number uintptr
		args   [5]uintptr
	}{
		{"open_tree", unix.SYS_OPEN_TREE, [5]uintptr{^uintptr(0), 0, ^uintptr(0)}}, // no such flags
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, [5]uintptr{^uintptr(0)}},         // attributes of no size
	} {
		_, _, errno := unix.Syscall6(call.number, call.args[0], call.args[1], call.args[2], call.args[3], call.args[4], 0)
		if errno != unix.EINVAL {
			return os.NewSyscallError(call.name, errno)
		}
	}
	return nil
}
