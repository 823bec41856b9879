//go:build unix

package spawn

import (
	"fmt"
	"syscall"
)

// interrupt and kill reach the whole group. The caller makes sure that the
// process has not been reaped.

func (c child) interrupt() error {
	if err := syscall.Kill(-c.pid, syscall.SIGINT); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("interrupting process group %d: %w", c.pid, asOSError(err))
	}
	return nil
}

func (c child) kill() {
	// It fails when nobody is left, or when all have become other users:
	// nothing more can be done then.
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
}
