//go:build !linux

package transport

import (
	"errors"
	"net"
)

func tcpNoDelay(*net.TCPConn) (bool, error) { return false, errors.ErrUnsupported }
