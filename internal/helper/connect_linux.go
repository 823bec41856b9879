package helper

import (
	"time"

	"golang.org/x/sys/unix"
)

// maxPending bounds the connections that a program waits for at the same time;
// one more is refused with EAGAIN. Each takes two descriptors.
const maxPending = 256

// pendingConnect is a connection that its caller waits for.
type pendingConnect struct {
	id      uint64
	address []byte
	number  int       // what /proc calls the caller; 0 if that is not known
	target  int       // what address leads to, held open; or -1
	waiting uint64    // signals that waited for any thread at the last tick
	ticks   int       // for which they have
	retried bool      // nothing tells when it can go on
	until   time.Time // when the caller waits no longer; zero means never
}

func (p *pendingConnect) isLate() bool { return !p.until.IsZero() && time.Now().After(p.until) }

// connect does what the caller of connect wants to be done, if it may be: with the
// caller's socket, but with what was read of its memory once. What another thread
// writes there after that, or puts in the socket's place, changes nothing.
func (s *supervisor) connect(n *notification) {
	socket, address, errno := n.connectArguments()
	if !s.isWaiting(n.ID) {
		closeIfOpen(socket)
		return
	}
	if errno != 0 {
		closeIfOpen(socket)
		s.answer(n.ID, errno)
		return
	}
	p := &pendingConnect{id: n.ID, address: address, target: -1}
	domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil && domain == unix.AF_UNIX {
		errno = s.judge(n, p)
	} else if err != nil {
		errno = errnoOf(err)
	}
	if errno == 0 {
		var waits bool
		if errno, waits = s.begin(n, socket, domain, p); waits {
			return
		}
	}
	closeIfOpen(p.target)
	unix.Close(socket)
	s.answer(n.ID, errno)
}

// connectArguments takes the socket and the address of a call of connect.
func (n *notification) connectArguments() (socket int, address []byte, errno unix.Errno) {
	who, errno := n.openCaller()
	if errno != 0 {
		return -1, nil, errno
	}
	defer who.close()
	socket, errno = who.file(n.Args[0])
	if errno != 0 {
		return -1, nil, errno
	}
	address, errno = n.address(n.Args[1], n.Args[2])
	return socket, address, errno
}

// begin connects a socket. If the caller has to wait for the outcome it does so
// from now on, and the socket is the supervisor's.
func (s *supervisor) begin(n *notification, socket, domain int, p *pendingConnect) (errno unix.Errno, waits bool) {
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		return errnoOf(err), false
	}
	if flags&unix.O_NONBLOCK != 0 {
		return connectTo(socket, p.address), false
	}
	errno = connectAtOnce(socket, flags, p.address)
	switch {
	case domain == unix.AF_UNIX && errno == unix.EAGAIN: // too many others wait to be accepted
		p.retried = true
	case domain != unix.AF_UNIX && (errno == unix.EINPROGRESS || errno == unix.EALREADY):
	default:
		return errno, false
	}
	if len(s.pending) >= maxPending {
		return unix.EAGAIN, false
	}
	if !p.retried {
		if err := s.watch(socket, unix.EPOLLOUT); err != nil {
			return errnoOf(err), false
		}
	}
	if t, err := unix.GetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err == nil && t.Nano() > 0 {
		p.until = time.Now().Add(time.Duration(t.Nano()))
	}
	if who, errno := n.openCaller(); errno == 0 {
		p.number, _ = who.number()
		who.close()
	}
	s.pending[socket] = p
	return 0, true
}

// goOn looks how far a connection has come that is waited for.
func (s *supervisor) goOn(socket int) {
	p := s.pending[socket]
	if p == nil {
		return
	}
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		s.finish(socket, errnoOf(err))
		return
	}
	switch errno := connectAtOnce(socket, flags, p.address); {
	case errno == unix.EALREADY, errno == unix.EINPROGRESS, p.retried && errno == unix.EAGAIN:
		if p.isLate() {
			s.finish(socket, errno)
		}
	default:
		s.finish(socket, errno)
	}
}

// finish answers the caller of a connection that is waited for.
func (s *supervisor) finish(socket int, errno unix.Errno) {
	s.answer(s.pending[socket].id, errno)
	s.drop(socket)
}

// drop forgets a connection that is waited for. If the caller calls again, as it
// does after a signal, that goes on where this has come to.
func (s *supervisor) drop(socket int) {
	p := s.pending[socket]
	delete(s.pending, socket)
	if !p.retried {
		// The caller has the same socket: closing alone would not end it.
		_ = unix.EpollCtl(s.poll, unix.EPOLL_CTL_DEL, socket, nil)
	}
	closeIfOpen(p.target)
	unix.Close(socket)
}

// connectAtOnce connects a socket that blocks, without waiting. The flag is the
// caller's, too; but before a socket is connected nobody else has use for it.
func connectAtOnce(socket, flags int, address []byte) unix.Errno {
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(socket), unix.F_SETFL, flags|unix.O_NONBLOCK); err != nil {
			return errnoOf(err)
		}
		defer func() { _, _ = unix.FcntlInt(uintptr(socket), unix.F_SETFL, flags) }()
	}
	return connectTo(socket, address)
}

// closeIfOpen closes a descriptor that is not -1.
func closeIfOpen(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}
