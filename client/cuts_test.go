package client_test

import (
	"context"
	"errors"
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

// allowance is how many bytes a connection may still carry, one way and the other.
type allowance struct {
	bounded bool
	left    atomic.Int64
}

func newAllowance(most int) *allowance {
	a := &allowance{bounded: most >= 0}
	a.left.Store(int64(most))
	return a
}

// use returns how many of some bytes the connection still carries.
func (a *allowance) use(bytes int) int {
	if !a.bounded {
		return bytes
	}
	return min(bytes, max(0, bytes+int(a.left.Add(-int64(bytes)))))
}

// cutting wraps connections that are cut after some bytes have been read and written.
type cutting struct {
	transport.Conn
	may *allowance
}

var errCut = errors.New("cut by the test")

func (c *cutting) Read() ([]byte, error) {
	data, err := c.Conn.Read()
	if err == nil && c.may.use(len(data)) < len(data) {
		c.Close(errCut)
		return nil, errCut
	}
	return data, err
}

func (c *cutting) Write(batch [][]byte) error {
	for _, message := range batch {
		if c.may.use(len(message)) < len(message) {
			c.Close(errCut)
			return errCut
		}
		if err := c.Conn.Write([][]byte{message}); err != nil {
			return err
		}
	}
	return nil
}

// cuttingConnector connects in process.
func cuttingConnector(s *server.Server, c *cuts) client.Connector {
	return connector(func(ctx context.Context) (transport.Conn, error) {
		conn, err := s.Connect(ctx)
		return &cutting{conn, newAllowance(c.next())}, err
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

// forward passes on what goes both ways, until it cuts the connection after some bytes.
func forward(from *net.TCPConn, address string, most int) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		_ = from.Close()
		return
	}
	may := newAllowance(most)
	pass := func(from, to net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			passed := may.use(n)
			if _, writeErr := to.Write(buf[:passed]); err != nil || writeErr != nil || passed < n {
				return
			}
		}
	}
	end := sync.OnceFunc(func() {
		_ = from.SetLinger(0) // as abruptly as can be
		_ = from.Close()
		_ = to.Close()
	})
	var there sync.WaitGroup
	there.Go(func() {
		defer end()
		pass(from, to)
	})
	pass(to, from)
	end()
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
