package helper

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// ownNamespace tells whether the namespace of a kind belongs to the user namespace
// that the helper is in. That it has been made along with it can't be asked, but
// nobody else's belongs to one that is new.
func ownNamespace(kind string) (bool, error) {
	var user, owner unix.Stat_t
	if err := unix.Stat("/proc/self/ns/user", &user); err != nil {
		return false, err
	}
	ns, err := unix.Open("/proc/self/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(ns)
	fd, err := unix.IoctlRetInt(ns, unix.NS_GET_USERNS)
	if errors.Is(err, unix.EPERM) { // it is one further out
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &owner); err != nil {
		return false, err
	}
	return owner.Dev == user.Dev && owner.Ino == user.Ino, nil
}

// network is the namespace for the network, as the helper has found it.
type network struct {
	own bool
	err error // why it can't be used
}

// prepareNetwork brings loopback up, if the network is the helper's own.
func prepareNetwork() (n network) {
	n.own, n.err = ownNamespace("net")
	if n.err == nil && n.own {
		n.err = loopbackUp()
	}
	return n
}

// check returns why the network is not what a plan wants.
func (n network) check(c *plan.Confinement) error {
	switch {
	case !c.Offline && len(c.Listen) == 0:
		return nil
	case n.err != nil:
		return failed(plan.Networking, "bringing loopback up", n.err)
	case !n.own || !c.Offline:
		return failed(plan.Networking, "a network namespace of its own is wanted and there is none", unix.EPERM)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// backlog is how many connections may wait to be accepted.
const backlog = 4096

// listen opens a socket for each port, in their order.
func listen(ports []uint16) (sockets []int, err error) {
	for _, port := range ports {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			sockets = append(sockets, fd)
			err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
		}
		if err == nil {
			err = unix.Listen(fd, backlog)
		}
		if err != nil {
			closeAll(sockets)
			return nil, failed(plan.Networking, "listening at 127.0.0.1:"+strconv.Itoa(int(port)), err)
		}
	}
	return sockets, nil
}
