package agent

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cable carries TCP connections to an executor, and can be cut.
type cable struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string
	severed bool
	conns   map[net.Conn]bool // of both ends
	made    int               // connections
	refused int               // connections that were not made
}

// newCable lays a cable to an address, until the end of the test.
func newCable(t *testing.T, target string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, target: target, conns: map[net.Conn]bool{}}
	c.running.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close()
		c.sever()
		c.running.Wait()
	})
	return c
}

func (c *cable) url() string { return "ws://" + c.listener.Addr().String() }

func (c *cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.join(client)
	}
}

// join connects a client, or resets it if the cable is cut.
func (c *cable) join(client net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.severed {
		c.refused++
		reset(client)
		return
	}
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		c.refused++
		reset(client)
		return
	}
	c.made++
	c.conns[client], c.conns[server] = true, true
	c.running.Go(func() { c.carry(client, server) })
	c.running.Go(func() { c.carry(server, client) })
}

// carry passes bytes on until one end is gone, and takes the other with it.
func (c *cable) carry(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, from)
	delete(c.conns, to)
}

// sever cuts all connections without a goodbye, and new ones too.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.severed = true
	for conn := range c.conns {
		reset(conn)
	}
}

// mend lets new connections through again, to the same address or another.
func (c *cable) mend(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.severed, c.target = false, target
}

// counts returns how many connections have been made, and how many have not.
func (c *cable) counts() (made, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made, c.refused
}

// reset ends a connection as a router does that goes away.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
