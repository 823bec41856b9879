//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How awaitForeground waits.
const (
	// stopTime is how long it may take to be stopped.
	stopTime = time.Second
	// stopAttempts is how often that is tried before we believe that it does not
	// happen.
	stopAttempts = 3
)

// awaitForeground stops us until we are in the foreground, as the system does it.
// It fails if nobody stops us: then nobody could have us go on.
func awaitForeground(terminal *os.File) error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	for attempt := 0; !inForeground(terminal); {
		if attempt == stopAttempts {
			return errNobodyStops
		}
		attempt++
		stopGroup()
		select {
		case <-continued:
			attempt = 0
		case <-time.After(stopTime): // perhaps while we were stopped
		}
		if inForeground(terminal) {
			return nil
		}
		select {
		case <-continued:
			attempt = 0
		case <-time.After(settleTime):
		}
	}
	return nil
}

var errNobodyStops = errors.New("this is the background, and there is no shell that could bring it to the foreground")

// inForeground tells whether a terminal is ours to use. One that is not that of
// our session is.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// stopGroup stops our process group as the system does when one in the background
// uses the terminal: it has no effect if nobody could have us go on. It may take
// effect only after it has returned.
func stopGroup() { _ = unix.Kill(0, unix.SIGTTOU) }

// stopSelf stops us, unless nobody could have us go on: in the group of its
// session's leader there is no shell that controls jobs. Nor does the system stop
// those. It may take effect only after it has returned.
func stopSelf() {
	if session, err := unix.Getsid(0); err == nil && session != unix.Getpgrp() {
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	}
}

// backgroundPause is between looks at whether a terminal is ours again. Of that
// nothing tells if we have not been stopped meanwhile.
const backgroundPause = 200 * time.Millisecond

// awaitKeys waits until there is something to read from a terminal and it is ours
// to use: a read before would have the system stop us at once when we go on in
// the background.
func awaitKeys(terminal *os.File) error {
	for {
		var readable unix.FdSet
		fd := int(terminal.Fd())
		readable.Set(fd)
		if _, err := unix.Select(fd+1, &readable, nil, nil, nil); err != nil && err != unix.EINTR {
			return os.NewSyscallError("select", err)
		} else if err == nil && inForeground(terminal) {
			return nil
		}
		if !inForeground(terminal) {
			<-time.After(backgroundPause)
		}
	}
}

// sizeTicks is for where no signal tells that a terminal's size has changed.
func sizeTicks() (ticks <-chan time.Time, stop func()) { return nil, func() {} }
