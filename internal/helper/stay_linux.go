package helper

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// forwarded are the signals that the program gets when the helper gets them.
var forwarded = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP, unix.SIGALRM,
}

// stay waits for the end of the program, and reaps whatever else ends. It returns
// the exit code.
func (k *keeper) stay(pid, code int, err error) int {
	if err != nil {
		return k.tell(err)
	}
	end := plan.End{Code: code}
	if pid != 0 {
		k.forked <- pid
		end = reap(pid)
	}
	if k.reports != nil {
		k.reports.end(func(d plan.Denial) bool { return k.daemon.send(d) == nil })
	}
	_ = k.daemon.send(end)
	k.end(end.Code)
	return end.Code
}

// forward sends the program's process group what the helper is sent. It begins
// before there is a program: nothing is lost.
func (k *keeper) forward() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	go func() {
		leader := <-k.forked
		k.forked <- leader
		for s := range signals {
			_ = unix.Kill(-leader, s.(syscall.Signal))
		}
	}()
}

// reap waits for the end of a process.
func reap(pid int) plan.End {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return plan.End{Code: exitExec}
		case ended != pid:
		case status.Signaled():
			return plan.End{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
		default:
			return plan.End{Code: status.ExitStatus()}
		}
	}
}

// end ends the helper, and all below it: the kernel does that with the namespace of
// which this is the first process; elsewhere they are hunted down.
func (k *keeper) end(code int) {
	if unix.Getpid() != 1 {
		done := make(chan struct{})
		go func() { // this thread may be restricted
			defer close(done)
			for range huntRounds {
				if !killChildren() {
					return
				}
			}
		}()
		<-done
	}
	unix.Exit(code)
}

// huntRounds bounds how often the children of those that have been killed are
// looked for, each of which has become ours. The daemon kills the control group
// besides.
const huntRounds = 100

// killChildren kills and reaps the children of this process, and tells whether
// there can be more.
func killChildren() bool {
	for { // those that have ended already
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.ECHILD {
			return false
		}
		if err != nil || pid == 0 {
			break
		}
	}
	tasks, err := unix.Open("/proc/self/task", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tasks)
	threads, err := entries(tasks)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		for _, pid := range children(tasks, thread) {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}
	return true
}

// children returns the first few that a thread has.
func children(tasks int, thread string) (pids []int) {
	fd, err := unix.Openat(tasks, thread+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buffer := make([]byte, 4096)
	n, err := unix.Read(fd, buffer)
	if err != nil || n == 0 {
		return nil
	}
	text := string(buffer[:n])
	if n == len(buffer) { // the last number may be cut off
		text = text[:strings.LastIndexByte(text, ' ')+1]
	}
	for field := range strings.FieldsSeq(text) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
