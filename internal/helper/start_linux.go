package helper

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// start forks the program, and tells the daemon. It returns the process, or the exit
// code if nothing could be executed; or what has failed.
func (k *keeper) start() (pid, code int, err error) {
	// The program's own process has to do something first if there are limits. It
	// takes another start of the helper in there.
	if len(k.plan.Rlimits)+len(k.plan.Writes) > 0 {
		pid, err = k.startStaged()
	} else {
		pid, code, err = k.startDirectly()
	}
	if err != nil {
		return 0, 0, err
	}
	_ = unix.Chdir("/")
	return pid, code, k.daemon.send(plan.Answer{Step: plan.Executing})
}

func (k *keeper) startDirectly() (pid, code int, err error) {
	p := k.plan
	listener, err := restrict(p.Confine)
	if err != nil {
		return 0, 0, err
	}
	k.supervise(listener)
	files := candidates(p)
	if k.program >= 0 {
		files = []string{"/proc/self/fd/" + strconv.Itoa(k.program)}
	}
	attr := childAttributes(p, p.Env, k.streams[:]...)
	err = try(files, isSearched(p), func(file string) (err error) {
		pid, err = syscall.ForkExec(file, p.Argv, attr)
		return err
	})
	if err != nil && isForkError(errnoOf(err)) {
		return 0, 0, failed(plan.Forking, "", err)
	}
	if err != nil {
		pid, code = 0, explain(k.streams[2], nameOf(p), err)
	}
	k.release()
	return pid, code, nil
}

// isForkError tells those errors that come from a lack of processes or of memory, or
// from a terminal that is another session's, and say nothing about the program.
func isForkError(errno syscall.Errno) bool {
	return errno == unix.EAGAIN || errno == unix.ENOMEM || errno == unix.ENOSPC || errno == unix.EPERM
}

// startStaged has the helper restrict itself, and execute the program.
func (k *keeper) startStaged() (pid int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, failed(plan.Forking, "", err)
	}
	stage := channel(pair[0])
	defer unix.Close(pair[0])
	text, err := memoryFile(k.plan.Append(nil))
	if err != nil {
		unix.Close(pair[1])
		return 0, failed(plan.Forking, "", err)
	}
	files := append(k.streams[:len(k.streams):len(k.streams)], pair[1], text)
	if k.program >= 0 {
		files = append(files, k.program)
	}
	files = append(files, k.writes...)
	attr := childAttributes(k.plan, helperEnvironment, files...)
	pid, err = syscall.ForkExec(itself, []string{Name, stageCommand}, attr)
	unix.Close(pair[1])
	unix.Close(text)
	if err != nil {
		return 0, failed(plan.Forking, "the helper", err)
	}
	k.release()
	// It says that it executes the program, or what has failed. With the execution
	// its socket is closed.
	last := plan.Answer{Step: plan.Forking, Errno: unix.EPIPE, Detail: "the helper has ended early"}
	for {
		m, fds, err := stage.receive()
		if err != nil {
			break
		}
		if answer, ok := m.(plan.Answer); ok {
			last = answer
		}
		if len(fds) == 1 {
			k.supervise(fds[0])
		} else {
			closeAll(fds)
		}
	}
	if last.Step != plan.Executing {
		return 0, &failure{last}
	}
	return pid, nil
}

// helperEnvironment keeps the runtime of Go from what takes time.
var helperEnvironment = []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0"}

// supervise judges what the program asks for, until the helper ends. It has no more
// rights over files than the program, or than the daemon's user.
func (k *keeper) supervise(listener int) {
	if listener < 0 {
		return
	}
	k.reports = newReports(func(d plan.Denial) bool { return k.daemon.offer(d) })
	go func() {
		runtime.LockOSThread() // for ever: the thread is of no use to others then
		var own capabilities
		if own.get() != nil || own.keep(judgesNeed) != nil {
			unix.Close(listener) // what asks for judgement is denied
			return
		}
		supervise(listener, k.plan.Confine, k.reports)
	}()
}

// release closes what is the program's only: it has to notice when others close the
// other ends.
func (k *keeper) release() {
	closeAll(k.streams[:])
	closeAll(k.writes)
	if k.program >= 0 {
		unix.Close(k.program)
	}
}

func memoryFile(b []byte) (int, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("write", err)
		}
		b = b[n:]
	}
	return fd, nil
}
