package transport

import (
	"fmt"
	"net/netip"
	"strings"
)

// Address is where an executor serves: a TCP address for WebSockets, or
// standard input and output.
type Address struct {
	addr  netip.AddrPort
	stdio bool
}

// ParseListen parses the value of --listen: "ws://IP:PORT", "stdio" or
// "stdio://". Host names are refused: what a name resolves to decides who can
// connect.
func ParseListen(url string) (Address, error) {
	if url == "stdio" || url == "stdio://" {
		return Address{stdio: true}, nil
	}
	hostPort, ok := strings.CutPrefix(url, "ws://")
	if !ok {
		return Address{}, fmt.Errorf("unsupported --listen URL `%s`; expected `ws://IP:PORT` or `stdio`", url)
	}
	addr, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return Address{}, fmt.Errorf("invalid websocket --listen URL `%s`; expected `ws://IP:PORT`", url)
	}
	return Address{addr: addr}, nil
}

// IsStdio reports whether the address is standard input and output.
func (a Address) IsStdio() bool { return a.stdio }

// IsLoopback reports whether only processes on this machine can connect.
func (a Address) IsLoopback() bool {
	return a.stdio || a.addr.Addr().Unmap().IsLoopback()
}

// network is the name under which net.Listen binds exactly this address: plain
// "tcp" would turn 0.0.0.0 into [::].
func (a Address) network() string {
	if a.addr.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}
