package spawn

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// child is the handle on a process that has been forked and not yet reaped.
type child struct {
	pid   int
	pidfd *os.File // readable when the process has exited; nil on old kernels

	orphans *orphans // has to know of its end; may be nil
}

// forkExec starts the program at path. The child's standard streams, session
// and terminal are in attr.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (child, error) {
	fd := -1
	attr.Sys.PidFD = &fd
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return child{}, err
	}
	c := child{pid: pid}
	if fd >= 0 {
		// A pidfd that can't be polled (before Linux 5.3) is no use.
		c.pidfd, _ = pollable(fd, "pidfd")
	}
	return c, nil
}

// signalOnDeath has the child told when the thread that forks it, and with it
// this program, has ended.
func signalOnDeath(sys *syscall.SysProcAttr) { sys.Pdeathsig = syscall.SIGTERM }

// wait waits for the exit. The process stays a zombie, unless somebody else has
// reaped it: then it is gone.
func (c child) wait() (end ending) {
	if c.pidfd != nil {
		conn, err := c.pidfd.SyscallConn()
		if err == nil {
			err = conn.Read(func(uintptr) (done bool) {
				end, done = c.status(unix.WNOHANG)
				return done
			})
		}
		if err == nil {
			return end
		}
	}
	end, _ = c.status(0)
	return end
}

// isDead tells whether the process has exited, also before wait does.
func (c child) isDead() bool {
	_, dead := c.status(unix.WNOHANG)
	return dead
}

// unknownStatus is the exit code of a child that somebody else has reaped: its
// number may be another process's by now.
const unknownStatus = -1

// status returns how the process has ended, and whether it has.
func (c child) status(options int) (end ending, done bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ending{code: unknownStatus, gone: true}, true
		}
		break
	}
	if info.Signo == 0 {
		return ending{}, false
	}
	// What follows the header is a union, aligned to a word.
	chld := (*struct {
		signo, errno, code int32
		fields             struct {
			_           [0]uintptr
			pid, uid    int32
			exitOrSigno int32
		}
	})(unsafe.Pointer(&info))
	const exited = 1 // CLD_EXITED; otherwise a signal has ended it
	end.code = int(chld.fields.exitOrSigno)
	if chld.code != exited {
		end.signaled = true
		end.code += 128
	}
	return end, true
}

// reap ends the zombie, after wait.
func (c child) reap() {
	c.orphans.reaped(c.pid) // before its number can be another child's
	_, err := syscall.Wait4(c.pid, nil, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(c.pid, nil, 0, nil)
	}
}

// release gives up what the handle holds.
func (c child) release() {
	if c.pidfd != nil {
		c.pidfd.Close()
	}
}
