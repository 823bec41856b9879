package control

import (
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/airlock-exec/airlock/internal/transport"
)

// Config says where a control socket is.
type Config struct {
	// Path is where to make it; if it is empty, it is named for the process id
	// and stands in the user's folder for such sockets. The folder is made if
	// only it is missing.
	Path string
	// Logger is told of who is refused; nil logs nothing.
	Logger *slog.Logger
}

// Listener is a control socket that an executor listens at.
type Listener struct {
	path   string
	socket *net.UnixListener
	file   os.FileInfo // the socket's, so that no other one is removed
	log    *slog.Logger
	uid    int

	handlers sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[transport.Conn]struct{} // at most limits.ControlConnections
}

// Path returns where the socket is.
func (l *Listener) Path() string { return l.path }
