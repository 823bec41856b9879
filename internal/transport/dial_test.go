package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func textLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// exchange sends messages of all sizes both ways.
func exchange(t *testing.T, a, b Conn) {
	t.Helper()
	batch := [][]byte{{}, []byte("hello"), bytes.Repeat([]byte("é"), 50_000), []byte("x"), bytes.Repeat([]byte("y"), 1<<20)}
	for _, way := range [][2]Conn{{a, b}, {b, a}} {
		written := make(chan error, 1)
		go func() { written <- way[0].Write(batch) }()
		for _, want := range batch {
			expectMessage(t, way[1], want)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}

func TestDial(t *testing.T) {
	l, conns := serve(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	client, err := Dial(ctx, l.URL(), DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // it was for the handshake only
	server := <-conns
	exchange(t, client, server)
	if want := "websocket JSON-RPC message from exec-server websocket " + strings.TrimPrefix(l.URL(), "ws://"); client.Origin() != want {
		t.Error(client.Origin())
	}

	// The reason arrives, masked as it has to be.
	client.Close(ErrMessageTooBig)
	_, err = server.Read()
	if closing, ok := errors.AsType[websocket.CloseError](err); !ok || closing.Code != websocket.StatusMessageTooBig {
		t.Error(err)
	}
}

func TestDialBearerToken(t *testing.T) {
	auth := newAuth(t, AuthConfig{Mode: CapabilityToken, TokenFile: writeFile(t, "s3cret")})
	l, conns := serve(t, Config{Authenticator: auth})
	client, err := Dial(t.Context(), l.URL(), DialOptions{BearerToken: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	<-conns
	client.Close(nil)

	_, err = Dial(t.Context(), l.URL(), DialOptions{})
	const want = ": server answered 401 Unauthorized: missing websocket bearer token"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}

func TestDialTLS(t *testing.T) {
	https := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer https.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.NewListener(tcp, &tls.Config{Certificates: https.TLS.Certificates})
	l := newListener(secure, Config{})
	conns := serveOn(t, l)
	url := "wss" + strings.TrimPrefix(l.URL(), "ws")

	if _, err := Dial(t.Context(), url, DialOptions{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error("unknown authority: ", err)
	}
	roots := https.Client().Transport.(*http.Transport).TLSClientConfig
	client, err := Dial(t.Context(), url, DialOptions{TLSConfig: &tls.Config{RootCAs: roots.RootCAs}})
	if err != nil {
		t.Fatal(err)
	}
	server := <-conns
	exchange(t, client, server)
	client.Close(nil)
	if _, err := server.Read(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}

	// A message that ends with the connection is not a message, on TLS either.
	client, err = Dial(t.Context(), url, DialOptions{TLSConfig: &tls.Config{RootCAs: roots.RootCAs}})
	if err != nil {
		t.Fatal(err)
	}
	server = <-conns
	encrypted := client.(*wsConn).net.Conn.(*tls.Conn)
	if _, err := encrypted.Write(frame(opText, []byte("cut"))); err != nil {
		t.Fatal(err)
	}
	if err := encrypted.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := server.Read(); !errors.Is(err, ErrClosed) {
		t.Errorf("%q %v", got, err)
	}
	client.Close(nil)
}

func TestDialKeepalive(t *testing.T) {
	// A server that shakes hands and is silent from then on.
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(tcp, Config{PingInterval: time.Hour})
	conns := serveOn(t, l)
	client, err := Dial(t.Context(), l.URL(), DialOptions{PingInterval: 10 * time.Millisecond, PingTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	<-conns // it does not read, so nothing answers the pings
	if _, err := client.Read(); err != ErrPingTimeout {
		t.Error(err)
	}

	client, err = Dial(t.Context(), l.URL(), DialOptions{PingInterval: 10 * time.Millisecond, PingTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(nil)
	server := <-conns
	failed := read(server) // answers the pings
	clientFailed := read(client)
	select {
	case err := <-failed:
		t.Error("server: ", err)
	case err := <-clientFailed:
		t.Error("client: ", err)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestDialRefusals(t *testing.T) {
	var followed bool
	https := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			w.Header().Set("Location", "/target")
			w.WriteHeader(http.StatusFound)
		case "/target":
			followed = true
		case "/long":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		case "/ok":
			_, _ = io.WriteString(w, "fine")
		case "/wrong":
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Sec-WebSocket-Accept", "no")
			w.WriteHeader(http.StatusSwitchingProtocols)
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
		}
	}))
	defer https.Close()
	base := "ws" + strings.TrimPrefix(https.URL, "http")
	for _, tt := range []struct {
		path   string
		status int
		body   string
	}{
		{"/redirect", 302, ""},
		{"/long", 502, strings.Repeat("x", 1024)},
		{"/ok", 200, "fine"},
		{"/wrong", 0, ""},
	} {
		_, err := Dial(t.Context(), base+tt.path+"?secret=7", DialOptions{BearerToken: "s3cret"})
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", tt.path, err)
		}
		refusal, ok := errors.AsType[*HandshakeError](err)
		if !ok {
			refusal = &HandshakeError{}
		}
		if refusal.Status != tt.status || refusal.Body != tt.body {
			t.Errorf("%s: %v", tt.path, err)
		}
	}
	if followed {
		t.Error("the redirect was followed")
	}
}

func TestDialErrors(t *testing.T) {
	for _, url := range []string{"", "ws://", "http://127.0.0.1:1", "ws:127.0.0.1:1", "127.0.0.1:1", "ws://u:s3cret@127.0.0.1:1", "ws://[::1?s3cret"} {
		_, err := Dial(t.Context(), url, DialOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "invalid URL") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", url, err)
		}
	}

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	_, err = Dial(t.Context(), "ws://"+closed.Addr().String(), DialOptions{})
	if err == nil || !strings.HasPrefix(err.Error(), "connect to exec-server "+closed.Addr().String()+": ") {
		t.Error(err)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, "ws://"+silent.Addr().String(), DialOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
