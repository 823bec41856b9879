package transport

import (
	"net"
	"syscall"
)

func tcpNoDelay(c *net.TCPConn) (on bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		var value int
		value, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
		on = value != 0
	})
	if controlErr != nil {
		return false, controlErr
	}
	return on, err
}
