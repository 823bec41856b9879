package landlock

import (
	"sync"

	"golang.org/x/sys/unix"
)

// ABI returns the version of the kernel's Landlock; 0 if it has none, or has it
// switched off.
func ABI() int { return abi() }

var abi = sync.OnceValue(func() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
})
