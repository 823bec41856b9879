package helper

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownership tells who listens on a socket.
type ownership int

// Who may.
const (
	foreign ownership = iota // somebody else; or nobody knows
	owned
	ofNobody
)

// maxListening bounds the sockets of a host that are looked through. Where there
// are more all are taken for somebody else's.
const maxListening = 1 << 16

// ownSockets knows which sockets the program and its descendants listen on: the
// kernel lists the sockets that are listened on with what they are bound to, and
// /proc who has them open. Where the kernel has no such list (CONFIG_UNIX_DIAG)
// all are taken for somebody else's.
type ownSockets struct {
	diag  int // -1 until it is needed
	known [64]uint64
	next  int // of known, is overwritten
}

func (o *ownSockets) close() {
	closeIfOpen(o.diag)
	o.diag = -1
}

// at tells who listens on a socket in the file system, which is open at a
// descriptor.
//
// The list has the lower half of its number only, and a device that is not always
// the one that is shown for files. So all that could be it have to be the program's
// own, and one has to be on the device; but not on btrfs, where none ever is.
func (o *ownSockets) at(fd int, file *unix.Stat_t) ownership {
	var system unix.Statfs_t
	sure := unix.Fstatfs(fd, &system) == nil && system.Type == unix.BTRFS_SUPER_MAGIC
	device := unix.Major(file.Dev)<<20 | unix.Minor(file.Dev)
	return o.judge(&sure, func(l *listening) bool {
		is := l.hasFile && l.file == uint32(file.Ino)
		sure = sure || is && l.device == device
		return is
	})
}

// named tells who listens on a socket that is in no file system.
func (o *ownSockets) named(name unixName) ownership {
	sure := true
	return o.judge(&sure, func(l *listening) bool { return l.name == name })
}

// judge tells who listens on all of the sockets that match. What is not sure after
// all have been looked at is not the program's.
func (o *ownSockets) judge(sure *bool, matches func(*listening) bool) ownership {
	all, err := o.list()
	if err != nil {
		o.close()
		return foreign
	}
	who := ofNobody
	for i := range all {
		if !matches(&all[i]) {
			continue
		}
		if !o.isOwn(&all[i]) {
			return foreign
		}
		who = owned
	}
	if who == owned && !*sure {
		return foreign
	}
	return who
}

// isOwn tells whether a descendant of the helper has a socket open. A socket once
// the program's own stays so: its number is never given to another one.
func (o *ownSockets) isOwn(l *listening) bool {
	for _, known := range o.known {
		if known == l.cookie && known != 0 {
			return true
		}
	}
	if !isHeldBelow("socket:[" + strconv.FormatUint(uint64(l.socket), 10) + "]") {
		return false
	}
	o.known[o.next] = l.cookie
	o.next = (o.next + 1) % len(o.known)
	return true
}

// listening is a Unix socket that somebody listens on.
type listening struct {
	socket  uint32 // its inode
	cookie  uint64 // is used once
	name    unixName
	hasFile bool
	file    uint32 // the lower half of the inode's number
	device  uint32
}

// Of linux/unix_diag.h and linux/netlink.h.
const (
	diagListening = 1 << 10 // the state TCP_LISTEN
	diagShowName  = 1
	diagShowFile  = 2
	diagName      = 0
	diagFile      = 1

	netlinkHeader = 16
	diagHeader    = 16
)

// list returns all Unix sockets of the network namespace that are listened on.
func (o *ownSockets) list() (all []listening, err error) {
	if o.diag < 0 {
		o.diag, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
		if err != nil {
			o.diag = -1
			return nil, err
		}
	}
	request := make([]byte, 0, netlinkHeader+24)
	request = binary.NativeEndian.AppendUint32(request, netlinkHeader+24)
	request = binary.NativeEndian.AppendUint16(request, unix.SOCK_DIAG_BY_FAMILY)
	request = binary.NativeEndian.AppendUint16(request, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request = append(request, make([]byte, 8)...)
	request = append(request, unix.AF_UNIX, 0, 0, 0)
	request = binary.NativeEndian.AppendUint32(request, diagListening)
	request = binary.NativeEndian.AppendUint32(request, 0)
	request = binary.NativeEndian.AppendUint32(request, diagShowName|diagShowFile)
	request = append(request, make([]byte, 8)...)
	if err := unix.Sendto(o.diag, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buffer := make([]byte, 32<<10)
	for {
		n, from, err := unix.Recvfrom(o.diag, buffer, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
			continue
		}
		if len(all) > maxListening {
			return nil, unix.E2BIG
		}
		done, err := eachMessage(buffer[:n], func(b []byte) { all = append(all, parseListening(b)) })
		if done || err != nil {
			return all, err
		}
	}
}

// eachMessage calls f for the messages in a packet. It tells whether the end of the
// list was among them.
func eachMessage(b []byte, f func([]byte)) (done bool, err error) {
	for len(b) >= netlinkHeader {
		size := int(binary.NativeEndian.Uint32(b))
		if size < netlinkHeader || size > len(b) {
			return false, unix.EBADMSG
		}
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			return false, unix.EOPNOTSUPP // for one, as the kernel has no such list
		case unix.SOCK_DIAG_BY_FAMILY:
			if size >= netlinkHeader+diagHeader {
				f(b[netlinkHeader:size])
			}
		}
		b = b[min(aligned(size), len(b)):]
	}
	return false, nil
}

func parseListening(b []byte) listening {
	l := listening{socket: binary.NativeEndian.Uint32(b[4:]), cookie: binary.NativeEndian.Uint64(b[8:])}
	for b = b[diagHeader:]; len(b) >= 4; {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			break
		}
		switch value := b[4:size]; binary.NativeEndian.Uint16(b[2:]) {
		case diagName:
			l.name = unixName(value)
		case diagFile:
			if len(value) >= 8 {
				l.hasFile = true
				l.file, l.device = binary.NativeEndian.Uint32(value), binary.NativeEndian.Uint32(value[4:])
			}
		}
		b = b[min(aligned(size), len(b)):]
	}
	return l
}

// aligned rounds up to where the next thing begins.
func aligned(size int) int { return (size + 3) &^ 3 }
