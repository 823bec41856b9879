package transport

import (
	"net"

	"golang.org/x/sys/unix"
)

// acknowledged returns how many bytes the peer's system has acknowledged, in
// all. It is 0 where that is not known: on other sockets than TCP, and before
// Linux 4.1.
func acknowledged(conn net.Conn) (bytes uint64) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			bytes = info.Bytes_acked
		}
	})
	return bytes
}
