package transport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// TestHeaderLimit: a request whose header does not end is not read for ever.
func TestHeaderLimit(t *testing.T) {
	address, err := ParseListen("ws://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = l.Serve(func(Conn) {}) })
	defer serving.Wait()
	defer l.Close()
	for size, want := range map[int]int{
		limits.HeaderBytes / 2: http.StatusOK,
		limits.HeaderBytes * 2: http.StatusRequestHeaderFieldsTooLarge,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "ws://"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { // the server may answer before it has all
			_, _ = fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", size))
		}()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("a header of %d bytes: %s", size, response.Status)
		}
		_ = response.Body.Close()
		_ = conn.Close()
	}
}

// TestHandshakeTimeout: half a request does not hold a socket for ever.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket := &pipeListener{dialed: make(chan net.Conn), closed: make(chan struct{})}
		serveOn(t, newListener(socket, Config{}))
		near, far := net.Pipe()
		socket.dialed <- far
		began := time.Now()
		if _, err := near.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n")); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, near) // an answer, if there is one, and the end
		if took := time.Since(began); took != limits.HandshakeTimeout {
			t.Errorf("closed after %v", took)
		}
	})
}
