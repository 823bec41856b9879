package helper

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// superviseTick is how long it may take until it is noticed that a caller who
// waits has gone, and how often what can't be waited for is tried again.
const superviseTick = 50 * time.Millisecond

// supervisor answers the notifications of a filter. A program waits in each of
// them, in the midst of a system call. One thread does it all, and waits for
// nothing but events, so that no program can hold up another one; only a file
// system that does not answer can.
type supervisor struct {
	listener int
	poll     int
	judges   bool
	sockets  *plan.Sockets
	reports  *reports
	pending  map[int]*pendingConnect // by the descriptor of the socket
	own      ownSockets
}

// supervise answers the notifications of a listener, which it closes in the end,
// until there is nobody left that runs under the filter. It judges connections
// where the filter asks for that, and reports what is denied: what is denied for
// the first time before the program gets to know.
//
// It needs to be allowed to look into the programs that ask: it has to be their
// ancestor, with the same user, and with CAP_SYS_PTRACE where they may be closed to
// others. If it can't, what it should judge is denied. What it connects to is what
// it may connect to itself: it must have no capabilities over files.
func supervise(listener int, c *plan.Confinement, r *reports) {
	defer unix.Close(listener)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	defer unix.Close(poll)
	s := &supervisor{
		listener: listener, poll: poll,
		judges: notifies(c.Filter, notifyJudge), sockets: &c.Sockets,
		reports: r, pending: map[int]*pendingConnect{},
		own: ownSockets{diag: -1},
	}
	defer s.close()
	if s.watch(listener, unix.EPOLLIN) == nil {
		s.run()
	}
}

func (s *supervisor) watch(fd int, events uint32) error {
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

// run works until the listener ends.
func (s *supervisor) run() {
	var events [16]unix.EpollEvent
	for {
		n, err := unix.EpollWait(s.poll, events[:], s.timeout())
		if err != nil && err != unix.EINTR {
			return
		}
		for _, event := range events[:max(n, 0)] {
			fd := int(event.Fd)
			switch {
			case fd != s.listener:
				s.goOn(fd)
			case event.Events&unix.EPOLLIN != 0:
				s.receive()
			default:
				return // nobody is left
			}
		}
		s.tick()
	}
}

// timeout returns how long to wait for events, as epoll takes it.
func (s *supervisor) timeout() int {
	if len(s.pending) > 0 || s.reports.waiting() {
		return int(superviseTick / time.Millisecond)
	}
	return -1
}

func (s *supervisor) tick() {
	for fd, p := range s.pending {
		switch {
		case !s.isWaiting(p.id):
			s.drop(fd)
		case p.number > 0 && s.interrupt(fd, p):
		case p.retried:
			s.goOn(fd)
		case p.isLate():
			s.finish(fd, unix.EINPROGRESS)
		}
	}
	s.reports.flush()
}

func (s *supervisor) close() {
	for fd := range s.pending {
		s.drop(fd)
	}
	s.reports.end(s.reports.report)
	s.own.close()
}

// receive takes a notification, which may have vanished meanwhile.
func (s *supervisor) receive() {
	n, err := receiveNotification(s.listener)
	if err != nil {
		return
	}
	if s.judges && n.Number == unix.SYS_CONNECT {
		s.connect(n)
		return
	}
	s.reports.add(describe(n))
	s.answer(n.ID, unix.EPERM)
}
