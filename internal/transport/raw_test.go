package transport

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// testTimeout bounds what is expected to happen at once.
const testTimeout = 10 * time.Second

// serve starts a listener on loopback and returns its connections as they come.
func serve(t testing.TB, cfg Config) (*Listener, <-chan Conn) {
	t.Helper()
	if cfg.Address == (Address{}) {
		cfg.Address, _ = ParseListen("ws://127.0.0.1:0")
	}
	l, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, serveOn(t, l)
}

func serveOn(t testing.TB, l *Listener) <-chan Conn {
	t.Helper()
	conns := make(chan Conn)
	stop, served := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		err := l.Serve(func(c Conn) {
			select {
			case conns <- c:
				<-stop // it is closed when the handler returns
			case <-stop:
			}
		})
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		close(stop)
		l.Close()
		<-served
	})
	return conns
}

// rawClient speaks HTTP and frames as bytes.
type rawClient struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dialTCP(t testing.TB, l *Listener) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	return newRawClient(t, conn)
}

func newRawClient(t testing.TB, conn net.Conn) *rawClient {
	t.Cleanup(func() { conn.Close() })
	return &rawClient{t: t, Conn: conn, r: bufio.NewReader(conn)}
}

// handshakeLines is a request that is upgraded.
var handshakeLines = []string{
	"GET / HTTP/1.1",
	"Host: x",
	"Connection: Upgrade",
	"Upgrade: websocket",
	"Sec-WebSocket-Version: 13",
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
}

// handshake sends the request and returns the header lines of the answer.
func (c *rawClient) handshake() []string {
	c.t.Helper()
	c.send([]byte(strings.Join(handshakeLines, "\r\n") + "\r\n\r\n"))
	var lines []string
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\r\n"))
	}
	if lines[0] != "HTTP/1.1 101 Switching Protocols" {
		c.t.Fatal(lines)
	}
	return lines
}

// connect returns both ends of a WebSocket.
func connect(t testing.TB, l *Listener, conns <-chan Conn) (*rawClient, Conn) {
	t.Helper()
	client := dialTCP(t, l)
	client.handshake()
	return client, <-conns
}

func (c *rawClient) send(p []byte) {
	c.t.Helper()
	if _, err := c.Write(p); err != nil {
		c.t.Fatal(err)
	}
}

// Bits of a frame's first byte, and opcodes of data frames.
const (
	fin, rsv1, rsv2, rsv3 = 0x80, 0x40, 0x20, 0x10

	opContinuation, opText, opBinary = 0x0, 0x1, 0x2
)

// frame encodes a masked frame, as clients send it.
func frame(first byte, payload []byte) []byte {
	head := []byte{first}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n <= 0xFFFF:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	key := []byte{0x12, 0x34, 0x56, 0x78}
	out := slices.Concat(head, key, payload)
	masked := out[len(head)+len(key):]
	subtle.XORBytes(masked, masked, bytes.Repeat(key, len(masked)/len(key)+1))
	return out
}

// receive reads one frame.
func (c *rawClient) receive() (first byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7F)
	var ext [8]byte
	switch n {
	case 126:
		_, err = io.ReadFull(c.r, ext[:2])
		n = uint64(binary.BigEndian.Uint16(ext[:]))
	case 127:
		_, err = io.ReadFull(c.r, ext[:])
		n = binary.BigEndian.Uint64(ext[:])
	}
	if err != nil {
		return 0, nil, err
	}
	if head[1]&0x80 != 0 {
		return 0, nil, fmt.Errorf("masked frame from the server")
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.r, payload)
	return head[0], payload, err
}

// expect reads one frame and compares it.
func (c *rawClient) expect(first byte, payload string) {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(testTimeout))
	gotFirst, got, err := c.receive()
	if err != nil || gotFirst != first || string(got) != payload {
		c.t.Fatalf("got frame %#x %.80q, error %v; want %#x %.80q", gotFirst, got, err, first, payload)
	}
}

// expectEnd reads until the connection ends and returns the status of the close
// frame, 0 if there was none.
func (c *rawClient) expectEnd() int {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(testTimeout))
	status := 0
	for {
		first, payload, err := c.receive()
		if err, ok := err.(net.Error); ok && err.Timeout() {
			c.t.Fatal("the connection is still open")
		}
		if err != nil {
			return status
		}
		if first == fin|opClose && len(payload) >= 2 {
			status = int(binary.BigEndian.Uint16(payload))
		}
	}
}
