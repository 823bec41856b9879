//go:build unix

package spawn

import (
	"fmt"
	"syscall"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// signalNumbers are those that the system has for them.
var signalNumbers = map[Signal]syscall.Signal{
	HUP:   syscall.SIGHUP,
	INT:   syscall.SIGINT,
	QUIT:  syscall.SIGQUIT,
	KILL:  syscall.SIGKILL,
	USR1:  syscall.SIGUSR1,
	USR2:  syscall.SIGUSR2,
	TERM:  syscall.SIGTERM,
	CONT:  syscall.SIGCONT,
	STOP:  syscall.SIGSTOP,
	WINCH: syscall.SIGWINCH,
}

// Signals that end a process which is out of limits.
const (
	sigKill = int(syscall.SIGKILL)
	sigXCPU = int(syscall.SIGXCPU)
	sigXFSZ = int(syscall.SIGXFSZ)
)

// hasGroups tells that a signal reaches a process group.
const hasGroups = true

// signal and kill reach the whole group. The caller makes sure that the
// process has not been reaped.

func (c child) signal(sig Signal) (delivered bool, err error) {
	number, known := signalNumbers[sig]
	if !known {
		return false, errNoSignal(sig)
	}
	err = syscall.Kill(-c.pid, number)
	if err == syscall.ESRCH {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sending SIG%s to process group %d: %w", sig, c.pid, asOSError(err))
	}
	return true, nil
}

// send sends a signal to the process group of the program. The caller holds the
// lock.
func (p *Process) send(sig Signal) (delivered bool, err error) {
	number, known := signalNumbers[sig]
	if p.confined == nil || sig == KILL || !known {
		return p.child.signal(sig)
	}
	// The group is that of a child of the helper, and for the helper to know.
	if err := p.confined.control.send(plan.Signal{Signal: int(number)}); err != nil {
		return false, fmt.Errorf("sending SIG%s to a confined process: %w", sig, asOSError(err))
	}
	return true, nil
}

func (c child) kill() {
	// It fails when nobody is left, or when all have become other users:
	// nothing more can be done then.
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
}
