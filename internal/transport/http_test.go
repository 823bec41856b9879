package transport

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// without returns the lines of a handshake without a header.
func without(name string) []string {
	return slices.DeleteFunc(slices.Clone(handshakeLines), func(line string) bool {
		return strings.HasPrefix(line, name+":")
	})
}

func with(lines []string, more ...string) []string { return slices.Concat(lines, more) }

func withRequest(line string) []string { return with([]string{line}, handshakeLines[1:]...) }

func TestHTTPSurface(t *testing.T) {
	digest := sha256.Sum256([]byte("s3cret"))
	auth := newAuth(t, AuthConfig{Mode: CapabilityToken, TokenSHA256: hex.EncodeToString(digest[:])})
	l, _ := serve(t, Config{Authenticator: auth})

	type response struct {
		Status            int
		Body, Type, Allow string
	}
	const text = "text/plain; charset=utf-8"
	for _, tt := range []struct {
		name  string
		lines []string
		want  response
	}{
		{"1 origin", with(handshakeLines, "Origin: http://x"), response{Status: 403}},
		{"1 origin, empty", with(handshakeLines, "Origin:"), response{Status: 403}},
		{"1 origin, readyz", with(withRequest("GET /readyz HTTP/1.1"), "Origin: null"), response{Status: 403}},
		{"1 origin, livez", with(withRequest("GET /livez HTTP/1.1"), "Origin: null"), response{Status: 403}},
		{"1 origin, unknown path", with(withRequest("POST /foo HTTP/1.1"), "Origin: x"), response{Status: 403}},
		{"2 readyz", []string{"GET /readyz HTTP/1.1", "Host: x"}, response{Status: 200}},
		{"2 readyz HEAD", []string{"HEAD /readyz HTTP/1.1", "Host: x"}, response{Status: 200}},
		{"2 readyz HTTP/1.0", []string{"GET /readyz HTTP/1.0"}, response{Status: 200}},
		{"2 readyz, websocket headers", withRequest("GET /readyz?x=1 HTTP/1.1"), response{Status: 200}},
		{"2 livez", []string{"GET /livez HTTP/1.1", "Host: x"}, response{Status: 200}},
		{"3 readyz POST", withRequest("POST /readyz HTTP/1.1"), response{Status: 405, Allow: "GET,HEAD"}},
		{"3 livez DELETE", withRequest("DELETE /livez HTTP/1.1"), response{Status: 405, Allow: "GET,HEAD"}},
		{"4 healthz", withRequest("GET /healthz HTTP/1.1"), response{Status: 404}},
		{"4 readyz/", withRequest("GET /readyz/ HTTP/1.1"), response{Status: 404}},
		{"4 foo POST", withRequest("POST /foo HTTP/1.1"), response{Status: 404}},
		{"4 options *", withRequest("OPTIONS * HTTP/1.1"), response{Status: 404}},
		{"5 POST", withRequest("POST / HTTP/1.1"), response{405, "Request method must be `GET`", text, ""}},
		{"5 POST, query", withRequest("POST /?a=b HTTP/1.1"), response{405, "Request method must be `GET`", text, ""}},
		{"5 HEAD", withRequest("HEAD / HTTP/1.1"), response{405, "", text, ""}},
		{"6 no connection", without("Connection"), response{400, "Connection header did not include 'upgrade'", text, ""}},
		{"6 other connection", with(without("Connection"), "Connection: keep-alive"), response{400, "Connection header did not include 'upgrade'", text, ""}},
		{"7 no upgrade", without("Upgrade"), response{400, "`Upgrade` header did not include 'websocket'", text, ""}},
		{"7 other upgrade", with(without("Upgrade"), "Upgrade: h2c"), response{400, "`Upgrade` header did not include 'websocket'", text, ""}},
		{"8 no version", without("Sec-WebSocket-Version"), response{400, "`Sec-WebSocket-Version` header did not include '13'", text, ""}},
		{"8 other version", with(without("Sec-WebSocket-Version"), "Sec-WebSocket-Version: 8"), response{400, "`Sec-WebSocket-Version` header did not include '13'", text, ""}},
		{"9 no key", without("Sec-WebSocket-Key"), response{400, "`Sec-WebSocket-Key` header missing", text, ""}},
		{"10 no token", handshakeLines, response{401, "missing websocket bearer token", text, ""}},
		{"10 query ignored", withRequest("GET /?token=s3cret HTTP/1.1"), response{401, "missing websocket bearer token", text, ""}},
		{"10 basic", with(handshakeLines, "Authorization: Basic s3cret"), response{401, "invalid authorization header", text, ""}},
		{"10 wrong token", with(handshakeLines, "Authorization: Bearer x"), response{401, "invalid websocket bearer token", text, ""}},
		{"11 upgrade", with(handshakeLines, "Authorization: bearer s3cret"), response{Status: 101}},
		{"11 upgrade, query", with(withRequest("GET /?x HTTP/1.1"), "Authorization: Bearer s3cret"), response{Status: 101}},
		{"11 upgrade, lists", with(with(without("Connection")[:4], "Connection: keep-alive, uPGRADE", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), "Authorization: Bearer s3cret"), response{Status: 101}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := dialTCP(t, l)
			client.send([]byte(strings.Join(tt.lines, "\r\n") + "\r\n\r\n"))
			method, _, _ := strings.Cut(tt.lines[0], " ")
			r, err := http.ReadResponse(client.r, &http.Request{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			got := response{Status: r.StatusCode, Type: r.Header.Get("Content-Type"), Allow: r.Header.Get("Allow")}
			if r.StatusCode != 101 {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Fatal(err)
				}
				got.Body = string(body)
				if method != "HEAD" && r.ContentLength != int64(len(body)) || r.Header.Get("Content-Length") == "" {
					t.Errorf("content-length is %q", r.Header.Get("Content-Length"))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What clients offer beyond the plain protocol is passed over.
func TestUpgradeAnswer(t *testing.T) {
	l, _ := serve(t, Config{})
	client := dialTCP(t, l)
	client.send([]byte(strings.Join(with(handshakeLines,
		"Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Extensions: permessage-deflate"), "\r\n") + "\r\n\r\n"))
	r, err := http.ReadResponse(client.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Del("Date")
	if diff := cmp.Diff(http.Header{
		"Connection":           {"Upgrade"},
		"Upgrade":              {"websocket"},
		"Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
	}, r.Header); diff != "" {
		t.Error(diff)
	}
}

// A connection on which one request failed serves the next.
func TestHTTPKeepAlive(t *testing.T) {
	l, conns := serve(t, Config{})
	client := dialTCP(t, l)
	for range 3 {
		client.send([]byte("GET /foo HTTP/1.1\r\nHost: x\r\n\r\n"))
		if r, err := http.ReadResponse(client.r, nil); err != nil || r.StatusCode != 404 {
			t.Fatal(r, err)
		}
	}
	client.handshake()
	<-conns
}

func TestHTTPHeaderLimit(t *testing.T) {
	l, _ := serve(t, Config{})
	client := dialTCP(t, l)
	_, _ = client.Write([]byte("GET /readyz HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n"))
	r, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(r, err)
	}
}
