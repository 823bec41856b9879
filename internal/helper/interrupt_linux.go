package helper

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errRestart is ERESTARTSYS of the kernel, which no program gets to see: a call
// that returns it while a signal waits is made again after the handler, or fails
// with EINTR, as the handler was installed.
const errRestart = unix.Errno(512)

// sharedTicks is for how many ticks a signal has to wait that any of several threads
// may take, until it seems to wait for the one in question. Then the call fails with
// EINTR whatever the handler says: if another thread takes the signal after all,
// nothing would make the call again.
const sharedTicks = 2

// interrupt ends the wait of a caller whom a signal waits for: once a notification
// has been received the kernel delivers only those that kill. It tells whether it
// did. If the call is made again it goes on where it was.
func (s *supervisor) interrupt(socket int, p *pendingConnect) bool {
	status := readShort(procPath(p.number, "status"))
	if !s.isWaiting(p.id) {
		return false
	}
	unblocked := ^signalSet(status, "SigBlk:")
	own, shared := signalSet(status, "SigPnd:")&unblocked, signalSet(status, "ShdPnd:")&unblocked
	switch {
	case own != 0 && !p.until.IsZero():
		s.finish(socket, unix.EINTR) // so it is with a timeout
	case own != 0, shared != 0 && strings.Contains(status, "\nThreads:\t1\n"):
		s.finish(socket, errRestart)
	case shared&p.waiting == 0:
		p.waiting, p.ticks = shared, 0
		return false
	case p.ticks < sharedTicks:
		p.ticks++
		return false
	default:
		s.finish(socket, unix.EINTR)
	}
	return true
}

// signalSet returns a set of signals as a file of /proc has it.
func signalSet(status, name string) uint64 {
	_, rest, _ := strings.Cut(status, "\n"+name)
	text, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	if err != nil {
		return 0
	}
	return set
}
