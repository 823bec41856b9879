package server

import (
	"os"

	"github.com/airlock-exec/airlock/internal/control"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// ControlConfig says where the control socket of an executor is.
type ControlConfig struct {
	// Path is where to make it, in a folder that nobody but this user has access
	// to; the folder is made if only it is missing. If Path is empty, the socket
	// is named for the process id, and stands where package client finds it.
	Path string
	// Listen is what the socket tells of where clients connect: URLs, or "stdio".
	Listen []string
}

// ControlListener is the control socket of an executor: whoever runs the
// executor, and nobody else, sees and ends there what all clients do.
type ControlListener struct {
	server *Server
	socket *control.Listener
	record string // by which the warden knows the socket
}

// ListenControl makes the control socket. It is served once
// [ControlListener.Serve] is called. The error wraps errors.ErrUnsupported on
// systems that do not tell who connects.
func (s *Server) ListenControl(config ControlConfig) (*ControlListener, error) {
	socket, err := control.Listen(control.Config{Path: config.Path, Logger: s.config.Logger})
	if err != nil {
		return nil, err
	}
	listen := append([]string{}, config.Listen...)
	s.listen.Store(&listen)
	l := &ControlListener{server: s, socket: socket, record: tree.SocketRecord(socket.Path())}
	if l.record != "" {
		s.warden.Add(l.record)
		s.mu.Lock()
		s.sockets = append(s.sockets, l.record)
		s.mu.Unlock()
	}
	return l, nil
}

// Path returns where the socket is.
func (l *ControlListener) Path() string { return l.socket.Path() }

// Serve serves connections until [ControlListener.Close] is called, and then
// returns nil.
func (l *ControlListener) Serve() error {
	return l.socket.Serve(func(t transport.Conn) {
		if !l.server.begin() {
			t.Close(ErrClosed)
			return
		}
		defer l.server.connections.Done()
		_ = l.server.serve(l.server.ctx, t, operator)
	})
}

// Close removes the socket and ends the connections made there.
func (l *ControlListener) Close() {
	l.socket.Close()
	l.server.warden.Remove(l.record)
}

// forgetSockets takes the sockets off the warden's ledger: it need not wait for
// their end, of which their listeners take care.
func (s *Server) forgetSockets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range s.sockets {
		s.warden.Remove(record)
	}
	s.sockets = nil
}

// executorInfo describes the executor to whoever runs it.
func (s *Server) executorInfo() protocol.ExecutorInfo {
	info := protocol.ExecutorInfo{
		PID: os.Getpid(), Version: s.config.Version, StartedAtMs: s.began.UnixMilli(), Listen: []string{},
	}
	if listen := s.listen.Load(); listen != nil {
		info.Listen = *listen
	}
	return info
}
