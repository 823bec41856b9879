package conformance

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake has it
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// target is the executor that is tested.
type target struct {
	address string // host:port
	tls     *tls.Config
	token   string
}

// parseTarget reads a URL such as ws://127.0.0.1:4000. The URL is not repeated
// in errors: it may hold a secret.
func parseTarget(rawURL, token string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "ws" && u.Scheme != "wss" ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("invalid URL of an exec-server; expected ws://HOST:PORT or wss://HOST:PORT")
	}
	if strings.ContainsAny(token, "\r\n") {
		return nil, errors.New("the token must be one line")
	}
	t := &target{token: token}
	port := u.Port()
	if u.Scheme == "wss" {
		t.tls = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	}
	switch {
	case port != "":
	case t.tls != nil:
		port = "443"
	default:
		port = "80"
	}
	t.address = net.JoinHostPort(u.Hostname(), port)
	return t, nil
}

// dial opens a connection on which nothing has been said.
func (t *target) dial(ctx context.Context) (net.Conn, error) {
	if t.tls != nil {
		return (&tls.Dialer{Config: t.tls}).DialContext(ctx, "tcp", t.address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", t.address)
}

// httpRequest is a request as a case writes it down.
type httpRequest struct {
	method  string
	target  string
	headers [][2]string
	body    string
	bare    bool // no Host, no token: only the headers given
}

// upgrade is the request that opens a WebSocket.
var upgrade = httpRequest{method: "GET", target: "/", headers: [][2]string{
	{"Connection", "Upgrade"},
	{"Upgrade", "websocket"},
	{"Sec-WebSocket-Version", "13"},
	{"Sec-WebSocket-Key", "YSBmaXhlZCBub25jZSEhIQ=="},
}}

// acceptKey is what a server answers to the key of a handshake.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see above
	return base64.StdEncoding.EncodeToString(sum[:])
}

// httpAnswer is what a server answers to a request.
type httpAnswer struct {
	status  int
	headers http.Header
	body    string // its first MiB; of a WebSocket there is none
}

// ask sends a request and reads the answer. The connection stays open, with what
// follows in the reader.
func (t *target) ask(ctx context.Context, request httpRequest) (net.Conn, *bufio.Reader, *httpAnswer, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\n", request.method, request.target)
	if !request.bare {
		fmt.Fprintf(&text, "Host: %s\r\n", t.address)
		if t.token != "" {
			fmt.Fprintf(&text, "Authorization: Bearer %s\r\n", t.token)
		}
	}
	for _, header := range request.headers {
		fmt.Fprintf(&text, "%s: %s\r\n", header[0], header[1])
	}
	text.WriteString("\r\n" + request.body)
	reader := bufio.NewReaderSize(conn, 64<<10)
	_, err = io.WriteString(conn, text.String())
	var answer *httpAnswer
	if err == nil {
		answer, err = readAnswer(reader, request.method)
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, nil, err
	}
	return conn, reader, answer, nil
}

func readAnswer(reader *bufio.Reader, method string) (*httpAnswer, error) {
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := &httpAnswer{status: response.StatusCode, headers: response.Header}
	if answer.status != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		if err != nil {
			return nil, err
		}
		answer.body = string(body)
	}
	return answer, nil
}

// exchange makes a whole HTTP exchange and returns the answer as a tree.
func (t *target) exchange(ctx context.Context, request httpRequest) (any, error) {
	conn, _, answer, err := t.ask(ctx, request)
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	headers := map[string]any{}
	for name, values := range answer.headers {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return map[string]any{
		"status":  number(strconv.Itoa(answer.status)),
		"headers": headers,
		"body":    answer.body,
	}, nil
}

// open opens a WebSocket.
func (t *target) open(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	conn, reader, answer, err := t.ask(ctx, upgrade)
	if err != nil {
		return nil, nil, err
	}
	if answer.status != http.StatusSwitchingProtocols {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("the server did not open a WebSocket: %d %s: %s",
			answer.status, http.StatusText(answer.status), shorten(strings.TrimSpace(answer.body)))
	}
	if got, want := answer.headers.Get("Sec-WebSocket-Accept"), acceptKey(upgrade.headers[3][1]); got != want {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("the server's Sec-WebSocket-Accept is %q, not %q", got, want)
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, reader, nil
}
