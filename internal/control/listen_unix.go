//go:build unix

package control

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

// maxPath is how long the path of a Unix socket may be.
const maxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// Listen makes a control socket. Connections are accepted once
// [Listener.Serve] is called.
func Listen(config Config) (*Listener, error) {
	if !knowsPeers {
		return nil, fmt.Errorf("control socket: telling who connects: %w", errors.ErrUnsupported)
	}
	l := &Listener{log: config.Logger, uid: os.Geteuid(), conns: map[transport.Conn]struct{}{}}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if config.Path != "" {
		path, err := filepath.Abs(config.Path)
		if err != nil {
			return nil, fmt.Errorf("control socket %s: %w", config.Path, err)
		}
		if err := l.listen(path); err != nil {
			return nil, err
		}
		return l, nil
	}
	var faults []error
	for _, dir := range defaultFolders(l.uid) {
		err := l.listenIn(dir)
		if err == nil {
			return l, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// errInUse: somebody listens at the path.
var errInUse = errors.New("another executor listens there")

// listenIn makes a socket in a folder for many.
func (l *Listener) listenIn(dir string) error {
	var err error
	for i := range limits.ControlNames {
		name := strconv.Itoa(os.Getpid())
		if i > 0 {
			name += "-" + strconv.Itoa(i)
		}
		if err = l.listen(filepath.Join(dir, name+extension)); !errors.Is(err, errInUse) {
			break
		}
	}
	return err
}

// listen makes the socket at a path.
func (l *Listener) listen(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("control socket %s: the path has %d bytes, but the system allows for %d: "+
			"choose a shorter one with --control-socket", path, len(path), maxPath)
	}
	folder, err := openFolder(filepath.Dir(path), l.uid, true)
	if err != nil {
		return err
	}
	defer folder.Close() // and unlocks it
	if err := lock(folder); err != nil {
		return err
	}
	removeStale(folder.Name())
	if err := makeRoom(path); err != nil {
		return fmt.Errorf("control socket %s: %w", path, err)
	}
	// Until the mode is set, the folder keeps others out.
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	socket.SetUnlinkOnClose(false) // it would remove whatever is there by then
	if err = os.Chmod(path, 0o600); err == nil {
		l.file, err = os.Lstat(path)
	}
	if err != nil {
		_ = socket.Close()
		_ = os.Remove(path)
		return fmt.Errorf("control socket: %w", err)
	}
	l.path, l.socket = path, socket
	return nil
}

// makeRoom removes a socket that nobody listens at. The folder is locked.
func makeRoom(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return errors.New("there is something else: remove it, or choose another place with --control-socket")
	case !isStale(path):
		return errInUse
	}
	return os.Remove(path)
}

// Serve calls handler, on a goroutine of its own, for every connection of the
// user's. The connection is closed when handler returns. Serve is called once;
// it returns nil after Close.
func (l *Listener) Serve(handler func(transport.Conn)) error {
	for {
		socket, err := l.socket.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM),
			errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ECONNABORTED):
			// It passes.
			l.log.Warn("control socket: a connection can't be accepted", "error", err)
			<-time.After(100 * time.Millisecond)
			continue
		case err != nil:
			return fmt.Errorf("control socket %s: %w", l.path, err)
		}
		if uid, err := uidOf(socket); uid != l.uid || err != nil {
			l.log.Warn("control socket: refused somebody who is not this user", "uid", uid, "error", err)
			_ = socket.Close()
			continue
		}
		l.start(newServerConn(socket), handler)
	}
}

// uidOf returns the user on the other end of a socket.
func uidOf(socket *net.UnixConn) (int, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid, fault := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, fault = peerUID(int(fd)) }); err != nil {
		return -1, err
	}
	return uid, fault
}

// start has a connection served, if there is a place for it.
func (l *Listener) start(conn transport.Conn, handler func(transport.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		conn.Close(transport.ErrGoingAway)
	case len(l.conns) >= limits.ControlConnections:
		l.log.Warn("control socket: too many connections", "limit", limits.ControlConnections)
		l.handlers.Go(func() {
			conn.Close(&ClosingError{ReasonTooMany, fmt.Sprintf("the control socket has %d connections, "+
				"as many as it may: end one of those who use it, such as airlock attach and airlock top", limits.ControlConnections)})
		})
	default:
		l.conns[conn] = struct{}{}
		l.handlers.Go(func() {
			defer l.end(conn)
			handler(conn)
		})
	}
}

func (l *Listener) end(conn transport.Conn) {
	conn.Close(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// Close removes the socket, closes every connection and waits until all handlers
// have returned; none of them may call it.
func (l *Listener) Close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	for conn := range l.conns {
		l.handlers.Go(func() { conn.Close(transport.ErrGoingAway) })
	}
	l.mu.Unlock()
	if first {
		// Before the listener, while nobody can take the path.
		if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.file) {
			_ = os.Remove(l.path)
		}
		_ = l.socket.Close()
	}
	l.handlers.Wait()
}
