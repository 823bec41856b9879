package fetch

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
)

// script is a connection from which pieces of a text are read.
type script struct {
	net.Conn
	in *strings.Reader
}

func (s script) Read(p []byte) (int, error) { return s.in.Read(p) }

// readThrough reads a text in pieces and returns what was recorded of it.
func readThrough(text string, piece int) []byte {
	c := &recordedConn{Conn: script{in: strings.NewReader(text)}}
	c.record()
	for buf := make([]byte, piece); ; {
		if _, err := c.Read(buf); err != nil {
			return c.recorded()
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	const head, hints = "HTTP/1.1 200 OK\r\na: 1\r\n\r\n", "HTTP/1.1 103 Hints\r\nb: 1\r\n\r\n"
	for text, want := range map[string]string{
		head:                             head,
		head + "body\r\n\r\n":            head,
		hints + hints + head + "x":       head,
		"HTTP/1.1 200\na:1\n\nb\r\n\r\n": "HTTP/1.1 200\na:1\n\n",
		"HTTP/1.1 101 x\r\n\r\nx":        "HTTP/1.1 101 x\r\n\r\n",
		head[:len(head)-1]:               "",
		hints:                            "",
		"":                               "",
		strings.Repeat("x", 2*limits.HTTPAnswerHeaderBytes+1) + "\n\n": "",
	} {
		for _, piece := range []int{1, 3, 1 << 20} {
			if got := readThrough(text, piece); string(got) != want {
				t.Errorf("%.60q in pieces of %d: got %.60q, want %q", text, piece, got, want)
			}
		}
	}
}

// TestRecordNext asserts that only the head that was asked for is recorded.
func TestRecordNext(t *testing.T) {
	t.Parallel()
	in := strings.NewReader("before")
	c := &recordedConn{Conn: script{in: in}}
	_, _ = io.ReadAll(c)
	for _, head := range []string{"HTTP/1.1 200 OK\r\na: 1\r\n\r\n", "HTTP/1.1 404 No\r\n\r\n"} {
		c.record()
		in.Reset(head + "body")
		_, _ = io.ReadAll(c)
		if got := c.recorded(); string(got) != head {
			t.Errorf("got %q, want %q", got, head)
		}
	}
}

// TestOrderOfAnswer asserts that headers keep their order wherever their head can
// be seen.
func TestOrderOfAnswer(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, plain("", "Z: 1", "A: 2", "z: 3", "Content-Length: 0"))
	}
	const want = "200 z=1 a=2 z=3 content-length=0 "
	if got := describe(newClient(t, Config{}).must(get(serve(t, answer).URL))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := describe(trusting(t).must(get(serveTLS(t, false, answer).URL))); got != want {
		t.Errorf("by TLS: got %q, want %q", got, want)
	}
	proxied := newClient(t, Config{LookupEnv: environment{"HTTP_PROXY": serve(t, answer).URL}.lookup})
	if got := describe(proxied.must(get("http://a.invalid"))); got != want {
		t.Errorf("by a proxy: got %q, want %q", got, want)
	}
}

// TestTLSByProxy asserts that headers are passed on also where their order can't
// be seen.
func TestTLSByProxy(t *testing.T) {
	t.Parallel()
	origin := serveTLS(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Z", "1")
		w.Header().Set("Trailer", "X-T")
		w.(http.Flusher).Flush()
	})
	proxy := newProxy(t, strings.TrimPrefix(origin.URL, "https://"))
	c := newClient(t, Config{LookupEnv: environment{"https_proxy": proxy.URL, "SSL_CERT_FILE": file(t, newAuthority().pem("CERTIFICATE"))}.lookup})
	// Not 127.0.0.1, which is reached without a proxy, but in the certificate.
	result := c.must(get("https://192.0.2.1/"))
	for name, want := range map[string]string{"z": "1", "transfer-encoding": "chunked", "trailer": "X-T"} {
		if got := header(result, name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %s", name, got, want)
		}
	}
	if got := proxy.lines(); got != "CONNECT 192.0.2.1:443" {
		t.Errorf("the proxy saw %q", got)
	}
}

// FuzzRecord asserts that it does not matter in which pieces a head comes, and
// that what is made of it can be passed on.
func FuzzRecord(f *testing.F) {
	f.Add("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK\r\na: 1\r\n b\r\nbad name: x\r\n:\r\n\r\nbody", 3)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		whole := readThrough(text, len(text)+1)
		if got := readThrough(text, 1+piece&0xff); !bytes.Equal(got, whole) {
			t.Fatalf("got %q, whole %q", got, whole)
		}
		list := headerList{}
		list.addLines(string(whole))
		for _, h := range list {
			if !isToken(h.Name) || !isPlain(h.Value) || h.Name != strings.ToLower(h.Name) {
				t.Fatalf("%+v", h)
			}
		}
	})
}
