package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen returns a listener on the loopback.
func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests have
	return l
}

func portOf(l *net.TCPListener) uint16 { return uint16(l.Addr().(*net.TCPAddr).Port) }

// handOver returns a listening socket as the helper hands it over, and its address.
func handOver(t *testing.T) (*os.File, string) {
	t.Helper()
	l := listen(t)
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return file, address
}

// start returns a relay to a port, and where to connect to it.
func start(t *testing.T, budget *Budget, port uint16) (*Relay, string) {
	t.Helper()
	r := New(budget, []uint16{port})
	t.Cleanup(r.Close)
	socket, address := handOver(t)
	if err := r.Take([]*os.File{socket}); err != nil {
		t.Fatal(err)
	}
	return r, address
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// serve handles the connections to a listener until the test ends.
func serve(t *testing.T, l *net.TCPListener, handle func(*net.TCPConn)) {
	t.Helper()
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			tasks.Go(func() { handle(c); _ = c.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); tasks.Wait() })
}

// TestHalfClose: the end of what one side sends is passed on while the other side
// goes on sending, both ways round.
func TestHalfClose(t *testing.T) {
	host := listen(t)
	serve(t, host, func(c *net.TCPConn) {
		asked, err := io.ReadAll(c) // ends only if the end is passed on
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(c, strings.ToUpper(string(asked)))
	})
	_, address := start(t, NewBudget(), portOf(host))
	for range 3 {
		c := dial(t, address)
		want := strings.Repeat("MANY WORDS ", 20_000)
		go func() {
			_, _ = io.WriteString(c, strings.ToLower(want))
			_ = c.CloseWrite()
		}()
		got, err := io.ReadAll(c)
		if err != nil || string(got) != want {
			t.Fatalf("got %d bytes, want %d: %v", len(got), len(want), err)
		}
	}
}

// TestNobodyListens: who connects to a port that nobody listens on finds its
// connection reset.
func TestNobodyListens(t *testing.T) {
	host := listen(t)
	port := portOf(host)
	_ = host.Close()
	_, address := start(t, NewBudget(), port)
	c, err := net.Dial("tcp4", address)
	if err == nil { // it may be that quick
		_, err = c.Read(make([]byte, 1))
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

// TestBudget: beyond the bound a connection waits until another one has ended.
func TestBudget(t *testing.T) {
	host := listen(t)
	serve(t, host, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	_, address := start(t, &Budget{places: make(chan struct{}, 1)}, portOf(host))
	echo := func(c *net.TCPConn) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	first, second := dial(t, address), dial(t, address)
	if err := echo(first); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- echo(second) }()
	if err := echo(first); err != nil { // a round trip later the other one still waits
		t.Fatal(err)
	}
	select {
	case err := <-answered:
		t.Fatalf("a second connection was carried beside the first: %v", err)
	default:
	}
	_ = first.Close()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

// TestClose: connections end with the relay, whether they wait for a place, for
// somebody to accept them or are in use; and what comes later is refused.
func TestClose(t *testing.T) {
	host := listen(t) // nobody accepts
	r, address := start(t, &Budget{places: make(chan struct{}, 1)}, portOf(host))
	used, waiting := dial(t, address), dial(t, address)
	if _, err := used.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	accepted, err := host.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	r.Close()
	for _, c := range []*net.TCPConn{used, waiting} {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection has outlived the relay: %v", err)
		}
	}
	if c, err := net.Dial("tcp4", address); err == nil {
		_ = c.Close()
		t.Error("it can still be connected to")
	}
	socket, _ := handOver(t)
	if err := r.Take([]*os.File{socket}); !errors.Is(err, errClosed) {
		t.Errorf("a closed relay takes a socket: %v", err)
	}
	if err := socket.Close(); !errors.Is(err, os.ErrClosed) {
		t.Error("the socket was not closed")
	}
}

// TestTakeRefuses: what is no listening socket, or not one for each port, is closed
// and told.
func TestTakeRefuses(t *testing.T) {
	r := New(NewBudget(), []uint16{1, 2})
	defer r.Close()
	socket, _ := handOver(t)
	if err := r.Take([]*os.File{socket}); err == nil || !strings.Contains(err.Error(), "1 sockets for 2 ports") {
		t.Errorf("got %v", err)
	}
	socket, _ = handOver(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Take([]*os.File{socket, file}); err == nil {
		t.Error("takes a file that is no socket")
	}
	for _, f := range []*os.File{socket, file} {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Error("something was not closed")
		}
	}
}
