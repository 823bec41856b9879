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

// wait waits for the exit, in a thread, and reaps: here no reliable way is known
// not to. What is left of the group after the exit can't be killed any more, as its
// id may have been given to others; but see [Process.Terminate].
func (c child) wait() ending {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.pid, &status, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(c.pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		return ending{code: -1, gone: true}
	case status.Signaled():
		return ending{code: 128 + int(status.Signal()), signaled: true, gone: true}
	}
	return ending{code: status.ExitStatus(), gone: true}
}

// isDead can't be told before wait does.
func (child) isDead() bool { return false }

func (c child) reap() {}

func (c child) release() {}
