package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// countingConn counts the writes that reach the connection.
type countingConn struct {
	net.Conn
	writes atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// countWrites puts a counter below a connection that is not in use yet.
func countWrites(c Conn) *countingConn {
	socket := c.(*wsConn).net
	counter := &countingConn{Conn: socket.Conn}
	socket.Conn = counter
	return counter
}

// waitForBlockedWrite returns once a Write of more than the system's buffers
// hold has filled them: the token stays taken.
func waitForBlockedWrite(t *testing.T, conn Conn) {
	t.Helper()
	c := conn.(*wsConn)
	deadline := time.Now().Add(testTimeout)
	for blocked := 0; blocked < 20; time.Sleep(time.Millisecond) {
		if len(c.writing) == 0 {
			blocked = 0
		} else {
			blocked++
		}
		if time.Now().After(deadline) {
			t.Fatal("the write does not block")
		}
	}
}

func TestWriteBatch(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	counter := countWrites(conn)

	var batch [][]byte
	for i := range 100 {
		batch = append(batch, fmt.Appendf(nil, `{"n":%d}`, i))
	}
	if err := conn.Write(batch); err != nil {
		t.Fatal(err)
	}
	if n := counter.writes.Load(); n != 1 {
		t.Errorf("a batch of 100 small messages took %d writes", n)
	}
	for i := range batch {
		client.expect(fin|opText, fmt.Sprintf(`{"n":%d}`, i))
	}

	// All sizes around those at which something changes, in one batch.
	batch = [][]byte{{}}
	for _, n := range []int{125, 126, 4 << 10, directBytes, corkBytes, 0xFFFF, 200 << 10} {
		for d := -10; d <= 10; d++ {
			batch = append(batch, bytes.Repeat([]byte{'a' + byte(d+10)}, n+d))
		}
	}
	written := make(chan error, 1)
	go func() { written <- conn.Write(batch) }()
	for _, message := range batch {
		client.expect(fin|opText, string(message))
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(nil); err != nil {
		t.Error(err)
	}
	if conn.(*wsConn).net.buf != nil {
		t.Error("an idle connection keeps a write buffer")
	}
}

// A read buffer is used again, and grows no further than a message needs.
func TestReadBuffer(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	read := func(n int) []byte {
		t.Helper()
		defer client.sendAll(frame(fin|opText, bytes.Repeat([]byte("x"), n)))()
		got, err := conn.Read()
		if err != nil || len(got) != n {
			t.Fatal(len(got), err)
		}
		return got
	}
	first := read(100)
	if cap(first) > firstBuffer {
		t.Errorf("%d bytes for a message of 100", cap(first))
	}
	if second := read(200); &first[0] != &second[0] {
		t.Error("the buffer is not used again")
	}
	large := read(5 << 20)
	if cap(large) > 10<<20 {
		t.Errorf("%d bytes for a message of 5 MiB", cap(large))
	}
	if again := read(4 << 20); &large[0] != &again[0] {
		t.Error("a large buffer is not used again")
	}
	if huge := read(limits.SpareBufferBytes + 1); cap(huge) > 2*limits.SpareBufferBytes {
		t.Errorf("%d bytes for a message of %d", cap(huge), limits.SpareBufferBytes+1)
	}
	if after := read(100); cap(after) > firstBuffer {
		t.Errorf("%d bytes are kept after a huge message", cap(after))
	}
}

func TestConnectionsAreIndependent(t *testing.T) {
	l, conns := serve(t, Config{})
	_, stuck := connect(t, l, conns)
	client, conn := connect(t, l, conns)

	written := make(chan error, 1)
	go func() { written <- stuck.Write([][]byte{make([]byte, 32<<20)}) }()
	waitForBlockedWrite(t, stuck)

	for i := range 100 {
		message := fmt.Sprint(i)
		client.send(frame(fin|opText, []byte(message)))
		expectMessage(t, conn, []byte(message))
		if err := conn.Write([][]byte{[]byte(message)}); err != nil {
			t.Fatal(err)
		}
		client.expect(fin|opText, message)
	}
	stuck.Close(nil)
	if err := <-written; !errors.Is(err, ErrClosed) {
		t.Errorf("blocked write: %v", err)
	}
}

func TestClose(t *testing.T) {
	l, conns := serve(t, Config{})
	for name, tt := range map[string]struct {
		reason error
		status int
	}{
		"nil":         {nil, 1000},
		"closed":      {fmt.Errorf("x: %w", ErrClosed), 1000},
		"going away":  {ErrGoingAway, 1001},
		"cancelled":   {context.Canceled, 1001},
		"too big":     {ErrMessageTooBig, 1009},
		"UTF-8":       {ErrInvalidUTF8, 1007},
		"a violation": {ErrViolation, 1002},
	} {
		t.Run(name, func(t *testing.T) {
			client, conn := connect(t, l, conns)
			read := make(chan error, 1)
			go func() { _, err := conn.Read(); read <- err }()
			if err := conn.Write([][]byte{[]byte("last words")}); err != nil {
				t.Error(err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { conn.Close(tt.reason) })
			}
			wg.Wait()
			if err := <-read; !errors.Is(err, ErrClosed) {
				t.Errorf("read: %v", err)
			}
			if err := conn.Write([][]byte{nil}); !errors.Is(err, ErrClosed) {
				t.Errorf("write: %v", err)
			}
			client.expect(fin|opText, "last words")
			if status := client.expectEnd(); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
		})
	}
}

// A peer that does not read can't hold up Close, and gets no close frame in the
// middle of a message.
func TestCloseWithBlockedWrite(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	written := make(chan error, 1)
	go func() { written <- conn.Write([][]byte{bytes.Repeat([]byte("x"), 32<<20)}) }()
	waitForBlockedWrite(t, conn)
	begun := time.Now()
	conn.Close(errors.New("reason"))
	if took := time.Since(begun); took > time.Second {
		t.Errorf("close took %v", took)
	}
	if err := <-written; !errors.Is(err, ErrClosed) {
		t.Errorf("blocked write: %v", err)
	}
	_ = client.SetReadDeadline(time.Now().Add(testTimeout))
	received, _ := io.ReadAll(client.r)
	const head = 10
	if len(received) < head || len(bytes.Trim(received[head:], "x")) > 0 {
		t.Errorf("something else than the message among %d bytes", len(received))
	}
}

func TestOrigin(t *testing.T) {
	l, conns := serve(t, Config{})
	client, conn := connect(t, l, conns)
	want := "websocket JSON-RPC message from exec-server websocket " + client.LocalAddr().String()
	if conn.Origin() != want {
		t.Error(conn.Origin())
	}
}

func TestNagleIsOff(t *testing.T) {
	l, conns := serve(t, Config{})
	_, conn := connect(t, l, conns)
	on, err := tcpNoDelay(conn.(*wsConn).net.Conn.(*net.TCPConn))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || !on {
		t.Error(on, err)
	}
}

func TestListenAddresses(t *testing.T) {
	for url, want := range map[string]string{
		"ws://127.0.0.1:0": "ws://127.0.0.1:",
		"ws://0.0.0.0:0":   "ws://0.0.0.0:",
		"ws://[::1]:0":     "ws://[::1]:",
		"ws://[::]:0":      "ws://[::]:",
	} {
		t.Run(url, func(t *testing.T) {
			addr, err := ParseListen(url)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Listen(Config{Address: addr})
			if err != nil && strings.Contains(url, "[") {
				t.Skip("no IPv6: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := l.URL(); !strings.HasPrefix(got, want) || strings.HasSuffix(got, ":0") {
				t.Error(got)
			}
		})
	}
	if _, err := Listen(Config{Address: Address{stdio: true}}); err == nil {
		t.Error("listening on stdio")
	}
}
