package transport

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestListenerCloseEndsConnections(t *testing.T) {
	addr, _ := ParseListen("ws://127.0.0.1:0")
	l, err := Listen(Config{Address: addr})
	if err != nil {
		t.Fatal(err)
	}
	const count = 20
	var begun sync.WaitGroup
	var running atomic.Int32
	begun.Add(count)
	served := make(chan error)
	go func() {
		served <- l.Serve(func(conn Conn) {
			running.Add(1)
			defer running.Add(-1)
			begun.Done()
			if _, err := conn.Read(); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			time.Sleep(time.Millisecond) // Close has to wait for this
		})
	}()
	var clients []*rawClient
	for range count {
		client := dialTCP(t, l)
		client.handshake()
		clients = append(clients, client)
	}
	idle := dialTCP(t, l) // no request yet
	begun.Wait()
	l.Close()
	if n := running.Load(); n != 0 {
		t.Errorf("%d handlers still run", n)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for _, client := range clients {
		if status := client.expectEnd(); status != 1001 {
			t.Errorf("status %d", status)
		}
	}
	if _, err := io.ReadAll(idle); err != nil && !isReset(err) {
		t.Error(err)
	}
	l.Close()
	if err := l.Serve(nil); err != nil {
		t.Error(err)
	}
}

// isReset reports whether the peer has ended a connection without reading all.
func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

func TestListenerCloseWithoutServe(t *testing.T) {
	addr, _ := ParseListen("ws://127.0.0.1:0")
	l, err := Listen(Config{Address: addr})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if again, err := Listen(Config{Address: mustParse(t, l.URL())}); err != nil {
		t.Error("the address is still in use: ", err)
	} else {
		again.Close()
	}
}

func mustParse(t *testing.T, url string) Address {
	t.Helper()
	addr, err := ParseListen(url)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func TestListenError(t *testing.T) {
	l, _ := serve(t, Config{})
	if _, err := Listen(Config{Address: mustParse(t, l.URL())}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Error(err)
	}
}

func TestMaxConnections(t *testing.T) {
	l, conns := serve(t, Config{MaxConnections: 2})
	connect(t, l, conns)
	connect(t, l, conns)

	ask := func() (int, string) {
		client := dialTCP(t, l)
		client.send([]byte(strings.Join(handshakeLines, "\r\n") + "\r\n\r\n"))
		r, err := http.ReadResponse(client.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode == http.StatusSwitchingProtocols {
			return r.StatusCode, ""
		}
		body, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(body)
	}
	if status, text := ask(); status != 503 || text != "too many connections: the limit is 2" {
		t.Errorf("%d %q", status, text)
	}
	ready := dialTCP(t, l)
	ready.send([]byte("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"))
	if r, err := http.ReadResponse(ready.r, nil); err != nil || r.StatusCode != 200 {
		t.Error(r, err)
	}
}

// A place is free again when the handler has returned.
func TestMaxConnectionsAreGivenBack(t *testing.T) {
	addr, _ := ParseListen("ws://127.0.0.1:0")
	l, err := Listen(Config{Address: addr, MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	served := make(chan error)
	go func() {
		served <- l.Serve(func(conn Conn) { _, _ = conn.Read(); ended <- struct{}{} })
	}()
	for range 20 {
		client := dialTCP(t, l)
		// The place is given back just after the handler has returned.
		for status := 0; status != 101; {
			client.send([]byte(strings.Join(handshakeLines, "\r\n") + "\r\n\r\n"))
			r, err := http.ReadResponse(client.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if status = r.StatusCode; status != 101 {
				_, _ = io.Copy(io.Discard, r.Body)
			}
		}
		client.Close()
		<-ended
	}
	l.Close()
	<-served
	if n := l.socket.open.Load(); n != 0 {
		t.Errorf("%d sockets are counted as open", n)
	}
}

// Sockets that never become WebSockets are bounded, too.
func TestMaxSockets(t *testing.T) {
	l, _ := serve(t, Config{MaxConnections: 1})
	for range 1 + handshakeSlack {
		dialTCP(t, l)
	}
	over := dialTCP(t, l)
	_ = over.SetReadDeadline(time.Now().Add(testTimeout))
	if n, err := over.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Error("an answer above the bound")
	} else if !errors.Is(err, io.EOF) && !isReset(err) {
		t.Error(err)
	}
}

func TestAuthRefusalIsLoggedWithoutToken(t *testing.T) {
	var log strings.Builder
	l, _ := serve(t, Config{
		Authenticator: newAuth(t, AuthConfig{Mode: CapabilityToken, TokenFile: writeFile(t, "right-token")}),
		Logger:        textLogger(&log),
	})
	_, err := Dial(t.Context(), l.URL(), DialOptions{BearerToken: "wrong-token"})
	refusal, ok := errors.AsType[*HandshakeError](err)
	if !ok || refusal.Status != 401 || refusal.Body != "invalid websocket bearer token" {
		t.Fatal(err)
	}
	l.Close()
	if !strings.Contains(log.String(), "invalid websocket bearer token") || strings.Contains(log.String(), "-token") {
		t.Error(log.String())
	}
	if strings.Contains(err.Error(), "-token") {
		t.Error(err)
	}
}
