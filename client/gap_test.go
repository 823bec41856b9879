package client_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// gate is a connector whose connections a test can cut and hold back.
type gate struct {
	client.Connector

	mu   sync.Mutex // held while no connection is let through
	conn transport.Conn
}

func (g *gate) Connect(ctx context.Context) (transport.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	conn, err := g.Connector.Connect(ctx)
	g.conn = conn
	return conn, err
}

// shut cuts the connection and lets none through before the return value is
// called.
func (g *gate) shut() (open func()) {
	g.mu.Lock()
	g.conn.Close(errCut)
	return g.mu.Unlock
}

// dialer connects to a URL.
func dialer(url string) client.Connector {
	return connector(func(ctx context.Context) (transport.Conn, error) {
		return transport.Dial(ctx, url, transport.DialOptions{})
	})
}

// fifo makes a named pipe and returns what waits until somebody has opened it
// for writing.
func fifo(t *testing.T) (path string, wait func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := mkfifo(path); err != nil {
		t.Skipf("no named pipes: %v", err)
	}
	return path, func() {
		if _, err := os.ReadFile(path); err != nil {
			t.Error(err)
		}
	}
}

// TestGapIsExact: what an executor had to drop while nobody was connected is
// told, to the byte, and what it has kept comes.
func TestGapIsExact(t *testing.T) {
	s := server.New(server.Config{SpillBytes: -1})
	t.Cleanup(s.Close)
	g := &gate{Connector: dialer(listen(t, s))}
	e, err := client.Connect(t.Context(), g, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	path, written := fifo(t)
	const size = 5_000_000
	p := start(t, e, "p", "printf hello; read go; head -c 5000000 /dev/zero; echo oops >&2; >"+path+"; exit 3")
	stdout, stderr := p.Stdout(), p.Stderr()
	got := make([]byte, 5)
	if _, err := io.ReadFull(stdout, got); string(got) != "hello" || err != nil {
		t.Fatalf("%q, error %v", got, err)
	}
	if err := p.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
	open := g.shut()
	written()
	open()

	var received, missed uint64
	for {
		n, err := io.Copy(io.Discard, stdout)
		received += uint64(n)
		if err == nil {
			break
		}
		gap, ok := errors.AsType[*client.GapError](err)
		if !ok || gap.Missed == nil || gap.Missed[protocol.StreamStderr] != 0 {
			t.Fatal(err)
		}
		missed += gap.Missed[protocol.StreamStdout]
	}
	if received+missed != size || received < 500_000 || missed == 0 {
		t.Errorf("%d bytes received and %d missed, of %d", received, missed, size)
	}
	if text, err := io.ReadAll(stderr); string(text) != "oops\n" || err != nil {
		t.Errorf("%q, error %v", text, err)
	}
	if code, err := p.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

// TestNothingIsLost: with its file, an executor keeps what is written while
// nobody is connected, and it is taken as fast as the consumer likes.
func TestNothingIsLost(t *testing.T) {
	s := server.New(server.Config{})
	t.Cleanup(s.Close)
	g := &gate{Connector: dialer(listen(t, s))}
	e, err := client.Connect(t.Context(), g, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	path, written := fifo(t)
	p := start(t, e, "p", "read go; seq 1 500000; >"+path+"; seq 1 200000; exit 3")
	stdout := p.Stdout()
	if err := p.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
	open := g.shut()
	written()
	open()
	got, err := io.ReadAll(stdout)
	if want := numbers(500_000) + numbers(200_000); string(got) != want || err != nil {
		t.Errorf("%d of %d bytes, error %v", len(got), len(want), err)
	}
	if code, err := p.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

// TestTakeover: a session that another program goes on with is its own from
// then on. The one before does not take it back.
func TestTakeover(t *testing.T) {
	s := server.New(server.Config{})
	t.Cleanup(s.Close)
	url := listen(t, s)
	lost := make(chan error, 10)
	first, err := client.Dial(t.Context(), url, client.Options{OnConnection: func(err error) { lost <- err }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	p := start(t, first, "p", "echo one; read go; echo two; exit 6")
	if event, err := p.Next(t.Context()); err != nil || string(event.Data) != "one\n" {
		t.Fatalf("%+v, error %v", event, err)
	}

	_, err = client.Dial(t.Context(), url, client.Options{ResumeSessionID: first.SessionID()})
	if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.Code != protocol.CodeSessionAttached {
		t.Errorf("while it is in use: %v", err)
	}
	second, err := client.Dial(t.Context(), url, client.Options{ResumeSessionID: first.SessionID(), Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if err := <-lost; err == nil {
		t.Error("the first has not lost its connection")
	}
	q := second.Process("p")
	if err := q.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
	streams, code := collect(t, q)
	if streams[protocol.StreamStdout] != "one\ntwo\n" || code != 6 {
		t.Errorf("%v, exit code %d", streams, code)
	}
	if len(lost) != 0 {
		t.Error("the first has taken the session back")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	// It does not come back: two that share a session would take it from each
	// other for ever.
	if code, err := p.Wait(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("exit code %d, error %v", code, err)
	}
	if _, err := first.Status(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("error %v", err)
	}
}

// TestServerGoesAway: an executor that shuts down is not waited for for long.
func TestServerGoesAway(t *testing.T) {
	s := server.New(server.Config{})
	url := listen(t, s)
	e, err := client.Dial(t.Context(), url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	p := start(t, e, "p", "sleep 100")
	s.Close()
	if _, err := p.Wait(t.Context()); !errors.Is(err, client.ErrDisconnected) || !strings.Contains(err.Error(), "disconnected") {
		t.Errorf("got %v", err)
	}
}
