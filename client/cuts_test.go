package client_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/server"
)

// cuts are the ends of connections that a test has planned.
type cuts struct {
	left atomic.Int64
	most int // bytes that a connection may carry
	once sync.Once
}

// next returns after how many bytes the next connection is cut, or -1. The
// first is not cut before there is a session.
func (c *cuts) next() int {
	if c.left.Add(-1) < 0 {
		return -1
	}
	bytes := 1 + rand.IntN(c.most)
	c.once.Do(func() { bytes += 4 << 10 })
	return bytes
}

// cutting wraps connections that are cut after some bytes have been read.
type cutting struct {
	transport.Conn
	left int
}

var errCut = errors.New("cut by the test")

func (c *cutting) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	if err != nil || c.left < 0 {
		return data, err
	}
	if c.left -= len(data); c.left <= 0 {
		c.Close(errCut)
		return nil, errCut
	}
	return data, nil
}

// cuttingConnector connects in process.
func cuttingConnector(s *server.Server, c *cuts) client.Connector {
	return connector(func(ctx context.Context) (transport.Conn, error) {
		conn, err := s.Connect(ctx)
		return &cutting{conn, c.next()}, err
	})
}

// cuttingProxy forwards connections to an address, and returns its own.
func cuttingProxy(t *testing.T, address string, c *cuts) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			forwarding.Go(func() { forward(from.(*net.TCPConn), address, c.next()) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		forwarding.Wait()
	})
	return l.Addr().String()
}

// forward passes on what goes both ways, until it cuts the connection after
// some bytes have come back.
func forward(from *net.TCPConn, address string, most int) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		_ = from.Close()
		return
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	})
	var back io.Reader = to
	if most >= 0 {
		back = io.LimitReader(to, int64(most))
	}
	_, _ = io.Copy(from, back)
	_ = from.SetLinger(0) // as abruptly as can be
	_ = from.Close()
	_ = to.Close()
	there.Wait()
}

// flaky are the ways to reach an executor over connections that are cut.
func flaky(t *testing.T, count int64, most int, do func(t *testing.T, e client.Executor, c *cuts)) {
	for name, connect := range map[string]func(*testing.T, *server.Server, *cuts) (client.Executor, error){
		"in process": func(t *testing.T, s *server.Server, c *cuts) (client.Executor, error) {
			return client.Connect(t.Context(), cuttingConnector(s, c), client.Options{Name: "test"})
		},
		"websocket": func(t *testing.T, s *server.Server, c *cuts) (client.Executor, error) {
			url := listen(t, s)
			proxy := cuttingProxy(t, strings.TrimPrefix(url, "ws://"), c)
			return client.Dial(t.Context(), "ws://"+proxy, client.Options{Name: "test"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.New(server.Config{})
			t.Cleanup(s.Close)
			c := &cuts{most: most}
			c.left.Store(count)
			e, err := connect(t, s, c)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			do(t, e, c)
		})
	}
}

// listen serves an executor on a WebSocket and returns its URL.
func listen(t *testing.T, s *server.Server) string {
	t.Helper()
	l, err := s.Listen(server.ListenConfig{URL: "ws://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = l.Serve() })
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.URL()
}
