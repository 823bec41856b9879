package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/airlock-exec/airlock/internal/limits"
)

// DialOptions configures Dial.
type DialOptions struct {
	BearerToken  string        // "": none is sent
	TLSConfig    *tls.Config   // for wss; nil: the system's roots
	PingInterval time.Duration // zero: limits.PingInterval
	PingTimeout  time.Duration // zero: limits.PingTimeout
}

// maxQuotedBody is how much of an answer's first line stands in an error text.
const maxQuotedBody = 200

// HandshakeError is the answer of a server that did not open a WebSocket.
type HandshakeError struct {
	Status int    // of the HTTP response
	Body   string // its first KiB
}

func (e *HandshakeError) Error() string {
	text := fmt.Sprintf("server answered %d %s", e.Status, http.StatusText(e.Status))
	line, _, more := strings.Cut(strings.TrimSpace(e.Body), "\n")
	if len(line) > maxQuotedBody {
		line, more = line[:maxQuotedBody], true
	}
	if line != "" {
		text += ": " + strings.ToValidUTF8(line, "\uFFFD")
	}
	if more {
		text += " …"
	}
	return text
}

// Dial opens a WebSocket to a ws or wss URL. The context bounds the handshake
// only. A refusal by the server is a *HandshakeError.
//
// Redirects are not followed and proxies not used: the token is for the host in
// the URL alone.
func Dial(ctx context.Context, rawURL string, opts DialOptions) (Conn, error) {
	target, err := url.Parse(rawURL)
	if err != nil || target.Host == "" || target.User != nil || (target.Scheme != "ws" && target.Scheme != "wss") {
		// The URL may hold a secret; it is not repeated.
		return nil, errors.New("invalid URL of an exec-server; expected ws://HOST:PORT or wss://HOST:PORT")
	}
	conn, err := dial(ctx, target, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to exec-server %s: %w", target.Host, err)
	}
	return conn, nil
}

func dial(ctx context.Context, target *url.URL, opts DialOptions) (Conn, error) {
	var dialer handshakeDialer
	dialer.tls = tlsConfig(opts.TLSConfig, target.Hostname())
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.dial,
			DialTLSContext:         dialer.dialTLS,
			DisableKeepAlives:      true, // after a refusal, too
			MaxResponseHeaderBytes: limits.HeaderBytes,
		},
	}
	header := http.Header{}
	if opts.BearerToken != "" {
		header.Set("Authorization", "Bearer "+opts.BearerToken)
	}

	conn := newWSConn(nil, target.Host, newKeepalive(opts.PingInterval, opts.PingTimeout))
	conn.client = true
	ws, response, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{
		HTTPClient:      client,
		HTTPHeader:      header,
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived:  conn.onPing,
	})
	if err != nil {
		return nil, dialError(response, err)
	}
	conn.net = dialer.conn
	conn.start(ws)
	return conn, nil
}

// dialError finds the cause worth telling in an error of the library, which
// repeats the URL with all that may be in it.
func dialError(response *http.Response, err error) error {
	if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
		refusal := &HandshakeError{Status: response.StatusCode}
		if response.Body != nil {
			body, _ := io.ReadAll(response.Body) // cut to 1 KiB by the library
			refusal.Body = string(body)
		}
		return refusal
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return urlErr.Err
	}
	return err
}

// handshakeDialer makes the one connection of a handshake, and keeps hold of it.
type handshakeDialer struct {
	tls  *tls.Config
	conn *corkConn
}

func (d *handshakeDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.conn = newCorkConn(conn, nil)
	return d.conn, nil
}

func (d *handshakeDialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&tls.Dialer{Config: d.tls}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.conn = newCorkConn(conn, nil) // above TLS: full records for a batch
	return d.conn, nil
}

// tlsConfig completes the configuration for a WebSocket, which is HTTP/1.1.
func tlsConfig(cfg *tls.Config, host string) *tls.Config {
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}
