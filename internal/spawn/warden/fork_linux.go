package warden

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
)

// environment is all of the warden's. It runs on one thread at a time, so its
// runtime need not find out how many CPUs there are, and hold files open for it.
// The runtime settles that before the program can.
var environment = []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0"}

// fork executes a warden. It gets a session of its own, so that no signal to a
// group of ours and no terminal reaches it, and is not told when the thread
// ends that forks it.
func fork(path string, argv []string, stall time.Duration) (*life, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	if ends[0], err = helper.Raise(ends[0]); err != nil {
		syscall.Close(ends[1])
		return nil, err
	}
	defer syscall.Close(ends[0])
	pipe, err := pollable(ends[1], "warden")
	if err != nil {
		return nil, err
	}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), helper.LedgerFD: uintptr(ends[0])}
	// Without it (before Linux 5.3) only the pipe tells of our end.
	if self, err := ownPidfd(); err == nil {
		defer syscall.Close(self)
		files = append(files, uintptr(self)) // helper.DaemonFD, the next one
	}

	l := &life{pipe: pipe, stall: stall, began: time.Now()}
	pidfd := -1
	l.pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   environment,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		pipe.Close()
		return nil, err
	}
	if pidfd >= 0 {
		l.pidfd, _ = pollable(pidfd, "pidfd")
	}
	return l, nil
}

// ownPidfd opens a pidfd of this process.
func ownPidfd() (int, error) { return unix.PidfdOpen(os.Getpid(), 0) }

// pollable makes a file of a descriptor such that waiting for it takes no
// thread. It closes the descriptor if that fails.
func pollable(fd int, name string) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if err := file.SetDeadline(time.Time{}); err != nil {
		file.Close()
		return nil, errors.New("the system cannot watch more descriptors")
	}
	return file, nil
}
