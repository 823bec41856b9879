package fetch

import (
	"bytes"
	"net"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// recordedConn is a connection that keeps the head of an answer as it is received:
// net/http forgets in which order headers came, and takes some away.
type recordedConn struct {
	net.Conn

	mu        sync.Mutex
	recording bool   // the head is not complete, guarded by mu
	head      []byte // guarded by mu
}

// record begins to keep what is read, until a head is complete.
func (c *recordedConn) record() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recording, c.head = true, nil
}

// recorded returns the head, with the line of the status, or nil if it is not
// complete.
func (c *recordedConn) recorded() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording {
		return nil
	}
	return c.head
}

// Read reads, and keeps what belongs to the head.
func (c *recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording {
		c.keep(p[:n])
	}
	return n, err
}

// keep adds to the head. The caller holds the lock.
func (c *recordedConn) keep(data []byte) {
	const longest = 2 * limits.HTTPAnswerHeaderBytes // net/http gives up before
	// An end may have begun in what has been looked at already.
	looked := max(0, len(c.head)-len("\n\r"))
	c.head = append(c.head, data...)
	for c.recording {
		end := headEnd(c.head, looked)
		switch {
		case len(c.head) > longest && (end < 0 || end > longest):
			c.recording, c.head = false, nil
		case end < 0:
			return
		case isInterim(c.head[:end]):
			c.head, looked = c.head[end:], 0
		default:
			c.recording, c.head = false, bytes.Clone(c.head[:end])
		}
	}
}

// headEnd returns where the empty line after a head ends, which does not begin
// before from, or -1.
func headEnd(data []byte, from int) int {
	end := -1
	for _, mark := range []string{"\n\r\n", "\n\n"} {
		if at := bytes.Index(data[from:], []byte(mark)); at >= 0 && (end < 0 || from+at+len(mark) < end) {
			end = from + at + len(mark)
		}
	}
	return end
}

// isInterim tells whether a head is followed by that of the answer itself.
func isInterim(head []byte) bool {
	_, status, _ := bytes.Cut(head, []byte(" "))
	return bytes.HasPrefix(status, []byte("1")) && !bytes.HasPrefix(status, []byte("101"))
}
