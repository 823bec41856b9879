package fault

import (
	"net"
	"sync"
	"testing"
	"time"
)

// cable is a TCP connection's way from clients to a server, which can be
// damaged: the net.Conn on either side meets what real ones do.
type cable struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]bool
	fault  fault
	closed bool
	joined int // connections, in all
}

// fault is how bytes travel from now on, in both directions.
type fault struct {
	delay   time.Duration // before each piece is passed on
	oneByte bool          // pieces of one byte
	blocked bool          // nothing is passed on, and nobody notices
	// blockedBack: nothing is passed on from the server to the client.
	blockedBack bool
}

// link is one connection over the cable.
type link struct {
	client, server net.Conn
	// abandoned: the server must not notice that the client is gone.
	abandoned bool
}

// newCable lays a cable to a ws:// URL's address.
func newCable(t *testing.T, target string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, target: target, links: map[*link]bool{}}
	c.running.Go(c.accept)
	t.Cleanup(c.close)
	return c
}

// url is where clients connect to.
func (c *cable) url() string { return "ws://" + c.listener.Addr().String() }

func (c *cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.join(client, server)
	}
}

func (c *cable) join(client, server net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &link{client: client, server: server}
	if c.closed {
		l.cut()
		return
	}
	c.joined++
	c.links[l] = true
	c.running.Go(func() { c.carry(l, client, server) })
	c.running.Go(func() { c.carry(l, server, client) })
}

// carry passes bytes on until one side is gone.
func (c *cable) carry(l *link, from, to net.Conn) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.links, l)
		if !l.abandoned {
			l.cut()
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			f := c.current()
			blocks := func(f fault) bool { return f.blocked || f.blockedBack && from == l.server }
			if blocks(f) {
				// Wait for the cable to be mended, or cut.
				if !c.wait(l, func(f fault) bool { return !blocks(f) }) {
					return
				}
				continue
			}
			piece := rest
			if f.oneByte {
				piece = rest[:1]
			}
			if f.delay > 0 {
				<-time.After(f.delay)
			}
			if _, err := to.Write(piece); err != nil {
				return
			}
			rest = rest[len(piece):]
		}
		if err != nil {
			return
		}
	}
}

// wait looks at the cable every now and then until it is as wanted, and returns
// false if the link is cut before.
func (c *cable) wait(l *link, wanted func(fault) bool) bool {
	for {
		c.mu.Lock()
		f, alive := c.fault, c.links[l]
		c.mu.Unlock()
		if !alive || wanted(f) {
			return alive
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (c *cable) current() fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// set damages the cable, or mends it with the zero fault.
func (c *cable) set(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// cut ends every connection, at once and without a goodbye.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.cut()
		delete(c.links, l)
	}
}

// halfClose lets the server believe that every client has stopped sending.
func (c *cable) halfClose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		_ = l.server.(*net.TCPConn).CloseWrite()
	}
}

// abandon forgets every connection without telling the server: the client is
// gone, and its last packets are lost with it.
func (c *cable) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.abandoned = true
		_ = l.client.Close()
		// The server's side stays open, and silent, until the cable is closed.
		c.running.Go(func() { c.hold(l.server) })
		delete(c.links, l)
	}
}

func (c *cable) hold(conn net.Conn) {
	for {
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if closed {
			_ = conn.Close()
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// connections returns how many have been made.
func (c *cable) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined
}

func (c *cable) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	_ = c.listener.Close()
	c.cut()
	c.running.Wait()
}

// cut resets both connections of a link, as a router does that goes away.
func (l *link) cut() {
	for _, conn := range []net.Conn{l.client, l.server} {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}
