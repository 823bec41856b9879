package helper

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// connectTo connects a socket to an address as the kernel takes it.
func connectTo(socket int, address []byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(socket),
		uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// judge decides about a connection of a Unix socket. It may be made to what the
// policy grants, and to what the program itself listens on. The address becomes one
// that leads to just what was judged.
//
// Errors are those that a program expects: that of a socket which nobody listens
// on, and, where somebody does that it is not to reach, that of one which it
// must not write to.
func (s *supervisor) judge(n *notification, p *pendingConnect) unix.Errno {
	if len(p.address) <= 2 || len(p.address) > unixAddressBytes || binary.NativeEndian.Uint16(p.address) != unix.AF_UNIX {
		return 0 // it leads nowhere, and the kernel says so
	}
	name := nameOfUnix(p.address)
	if name.isAbstract() {
		if s.sockets.All || s.sockets.Abstract {
			return 0
		}
		return s.verdict(s.own.named(name), name.String(), unix.EPERM)
	}
	errno := n.resolve(name, p)
	if errno != 0 {
		return errno
	}
	var found unix.Stat_t
	if err := unix.Fstat(p.target, &found); err != nil {
		return errnoOf(err)
	}
	if found.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ECONNREFUSED
	}
	at := "/proc/self/fd/" + strconv.Itoa(p.target)
	p.address = unixAddress(at)
	path := readLink(at)
	if isGranted(s.sockets, path) {
		return 0
	}
	return s.verdict(s.own.at(p.target, &found), path, unix.EACCES)
}

func (s *supervisor) verdict(who ownership, name string, foreign unix.Errno) unix.Errno {
	switch who {
	case owned:
		return 0
	case ofNobody:
		return unix.ECONNREFUSED
	default:
		s.reports.add(plan.Denial{What: "connect", Path: name})
		return foreign
	}
}

// isGranted tells whether a path is one of those that the policy grants, or below.
func isGranted(sockets *plan.Sockets, path string) bool {
	if sockets.All {
		return true
	}
	for _, granted := range sockets.Paths {
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(granted, "/"))
		if ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// resolve opens what a path leads to for the caller, without opening the thing
// itself.
func (n *notification) resolve(name unixName, p *pendingConnect) unix.Errno {
	who, errno := n.openCaller()
	if errno != 0 {
		return errno
	}
	defer who.close()
	number, ok := who.number()
	if !ok || !isHere(number) {
		return unix.EACCES // names mean something else there, and can't be judged
	}
	dir := unix.AT_FDCWD
	path, own := ownProcess(string(name), number)
	if path[0] != '/' {
		cwd, err := unix.Open(procPath(number, "cwd"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return errnoOf(err)
		}
		defer unix.Close(cwd)
		dir = cwd
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if !own {
		// Links such as /dev/fd would lead to the helper's files.
		how.Resolve = unix.RESOLVE_NO_MAGICLINKS
	}
	fd, err := unix.Openat2(dir, path, &how)
	if err != nil {
		return errnoOf(err)
	}
	if !isHere(number) { // it must not have changed its root meanwhile
		unix.Close(fd)
		return unix.EACCES
	}
	p.target = fd
	return 0
}

// ownProcess puts the caller's number in the place of what means whoever looks, at
// the beginning of a path. Programs write such paths if others are too long for an
// address.
func ownProcess(path string, number int) (string, bool) {
	for _, self := range [...]string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(path, self); ok {
			return procPath(number, rest), true
		}
	}
	return path, false
}
