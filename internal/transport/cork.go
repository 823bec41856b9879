package transport

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// corkBytes is when a corked connection writes without being uncorked.
	corkBytes = 64 << 10
	// directBytes is the size from which copying a write costs more than a
	// second element in the vector of the system call.
	directBytes = 16 << 10
)

// corkBuffers holds the buffers of corked connections, so that idle ones have none.
var corkBuffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, corkBytes+directBytes)
	return &buf
}}

// corkConn is the connection below a WebSocket. While corked it gathers small
// writes, so that a batch of messages leaves in few system calls and packets;
// otherwise it writes at once. It also notes when something was last received.
type corkConn struct {
	net.Conn
	onClose func()
	closing sync.Once

	start time.Time     // what clock counts from
	heard atomic.Int64  // clock at the last received byte
	wrote atomic.Uint64 // bytes that the system has taken
	eof   atomic.Bool   // the peer has stopped sending, and Read has said so

	mu  sync.Mutex // serialises writes, guards buf
	buf *[]byte    // what has been gathered; nil unless corked
}

func newCorkConn(conn net.Conn, onClose func()) *corkConn {
	return &corkConn{Conn: conn, onClose: onClose, start: time.Now()}
}

// clock is the time since the connection was made; monotonic and never zero.
func (c *corkConn) clock() time.Duration { return time.Since(c.start) + 1 }

func (c *corkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 { // an error comes again, and then on its own
		c.heard.Store(int64(c.clock()))
		return n, nil
	}
	if err == io.EOF {
		c.eof.Store(true)
	}
	return n, err
}

// progress grows as the peer acknowledges bytes, where the system tells, and
// else as the system takes them.
func (c *corkConn) progress() uint64 {
	conn := c.Conn
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return c.wrote.Load() + acknowledged(conn)
}

// Write gathers p if the connection is corked and p small, and writes it
// together with what was gathered before if it is large.
func (c *corkConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil || len(*c.buf) == 0 && len(p) >= directBytes {
		n, err := c.Conn.Write(p)
		c.wrote.Add(uint64(n))
		return n, err
	}
	if len(p) >= directBytes {
		vector := net.Buffers{*c.buf, p}
		n, err := vector.WriteTo(c.Conn)
		c.wrote.Add(uint64(n))
		*c.buf = (*c.buf)[:0]
		return len(p), err
	}
	*c.buf = append(*c.buf, p...)
	if len(*c.buf) >= corkBytes {
		return len(p), c.flushLocked()
	}
	return len(p), nil
}

// cork begins to gather writes.
func (c *corkConn) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = corkBuffers.Get().(*[]byte)
}

// uncork writes what has been gathered and stops gathering.
func (c *corkConn) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.flushLocked()
	corkBuffers.Put(c.buf)
	c.buf = nil
	return err
}

func (c *corkConn) flushLocked() error {
	if len(*c.buf) == 0 {
		return nil
	}
	n, err := c.Conn.Write(*c.buf)
	c.wrote.Add(uint64(n))
	*c.buf = (*c.buf)[:0]
	return err
}

// Close closes the connection at once. A TLS connection is cut below its
// encryption: its own way to say goodbye can block for seconds, and the
// WebSocket above has said it already.
func (c *corkConn) Close() error {
	c.closing.Do(func() {
		if c.onClose != nil {
			c.onClose()
		}
	})
	if encrypted, ok := c.Conn.(*tls.Conn); ok {
		return encrypted.NetConn().Close()
	}
	return c.Conn.Close()
}

// corkListener wraps what it accepts into corkConns and refuses connections
// above a bound, which counts those that have not (or not yet) become WebSockets.
type corkListener struct {
	net.Listener
	max  int64
	open atomic.Int64
}

func (l *corkListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return newCorkConn(conn, func() { l.open.Add(-1) }), nil
		}
		l.open.Add(-1)
		_ = conn.Close()
	}
}
