//go:build !unix

package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/airlock-exec/airlock/internal/transport"
)

// Listen makes a control socket.
func Listen(Config) (*Listener, error) {
	return nil, fmt.Errorf("control socket: telling who connects: %w", errors.ErrUnsupported)
}

// Serve serves connections.
func (*Listener) Serve(func(transport.Conn)) error { return errors.ErrUnsupported }

// Close removes the socket.
func (*Listener) Close() {}

// Find returns the control sockets of the user's executors.
func Find() ([]string, error) { return nil, fmt.Errorf("control sockets: %w", errors.ErrUnsupported) }

// Dial connects to a control socket.
func Dial(_ context.Context, path string) (transport.Conn, error) {
	return nil, fmt.Errorf("control socket %s: %w", path, errors.ErrUnsupported)
}
