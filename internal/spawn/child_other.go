//go:build unix && !linux

package spawn

import "syscall"

// child is the handle on a process that has been forked and not yet reaped.
type child struct {
	pid int
}

// forkExec starts the program at path. The child's standard streams, session
// and terminal are in attr.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (child, error) {
	pid, err := syscall.ForkExec(path, argv, attr)
	return child{pid: pid}, err
}

// signalOnDeath does nothing: there is no parent-death signal here.
func signalOnDeath(*syscall.SysProcAttr) {}

// wait waits for the exit, in a thread, and returns the exit code. It reaps:
// here no reliable way is known not to. What is left of the group after the
// exit can't be killed any more, as its id may have been given to others.
func (c child) wait() (code int, gone bool) {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.pid, &status, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(c.pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		return -1, true
	case status.Signaled():
		return 128 + int(status.Signal()), true
	}
	return status.ExitStatus(), true
}

func (c child) reap() {}

func (c child) release() {}
