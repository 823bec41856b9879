package fetch

import (
	"net"
	"sync"
)

// scope is what a connection has under way, and ends it all when it is closed.
// The zero value is ready.
type scope struct {
	mu      sync.Mutex
	closed  bool                  // guarded by mu
	ends    map[*func()]struct{}  // guarded by mu
	sockets map[net.Conn]struct{} // guarded by mu
	inside  sync.WaitGroup        // those who have entered and not left
}

// enter registers somebody whom end has leave early. It returns false if the
// scope is closed.
func (s *scope) enter(end func()) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if s.ends == nil {
		s.ends = map[*func()]struct{}{}
	}
	s.ends[&end] = struct{}{}
	s.inside.Add(1)
	return func() {
		s.mu.Lock()
		delete(s.ends, &end)
		s.mu.Unlock()
		s.inside.Done()
	}, true
}

// own returns a socket that is closed with the scope, or false if that is over.
func (s *scope) own(conn net.Conn) (net.Conn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return nil, false
	}
	if s.sockets == nil {
		s.sockets = map[net.Conn]struct{}{}
	}
	s.sockets[conn] = struct{}{}
	return &ownedConn{conn, s}, true
}

// close ends everything and waits until all have left.
func (s *scope) close() {
	s.mu.Lock()
	s.closed = true
	ends, sockets := s.ends, s.sockets
	s.ends, s.sockets = nil, nil
	s.mu.Unlock()
	for end := range ends {
		(*end)()
	}
	for socket := range sockets {
		_ = socket.Close()
	}
	s.inside.Wait()
}

// ownedConn is a socket that its owner forgets when it is closed.
type ownedConn struct {
	net.Conn
	owner *scope
}

func (c *ownedConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.sockets, c.Conn)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}
