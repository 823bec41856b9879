//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/transport"
)

// Dial connects to a control socket. It fails with [transport.ErrGoingAway] if
// there is no executor any more.
func Dial(ctx context.Context, path string) (transport.Conn, error) {
	if !knowsPeers {
		return nil, fmt.Errorf("control socket %s: %w", path, errors.ErrUnsupported)
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("control socket %s: the path has %d bytes, but the system allows for %d",
			path, len(path), maxPath)
	}
	raw, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("control socket %s: %w: no executor listens there: %w",
			path, transport.ErrGoingAway, errors.Unwrap(err))
	case errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("control socket %s: only the user who runs the executor can use it: %w",
			path, errors.Unwrap(err))
	case err != nil:
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	socket := raw.(*net.UnixConn)
	uid, err := uidOf(socket)
	if own := os.Geteuid(); err == nil && uid != own {
		err = fmt.Errorf("it belongs to user %d, and this is user %d: only the user who runs the executor can use it", uid, own)
	}
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return newClientConn(socket), nil
}
