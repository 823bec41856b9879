package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// begin reserves n exchanges and returns what gives them back.
func begin(t *testing.T, c *Connection, n int, params func(i int) *protocol.HTTPRequestParams) (end func()) {
	t.Helper()
	var all []*Exchange
	for i := range n {
		e, err := c.Begin(params(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return func() {
		for _, e := range all {
			e.Sent()
		}
	}
}

func TestExchangesOfConnection(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{})
	const url = "http://127.0.0.1:1"
	end := begin(t, c.Connection, limits.HTTPExchanges, func(i int) *protocol.HTTPRequestParams { return stream(url, fmt.Sprint(i)) })
	_, err := c.Begin(get(url))
	wantError(t, err, protocol.CodeInternal, "http/request failed: this client has 1024 requests and streams under way")
	_, err = c.Begin(stream(url, "7"))
	wantError(t, err, protocol.CodeInvalidParams, "http/request streamResponse requestId `7` is already active")
	_, err = c.Begin(stream(url, strings.Repeat("x", limits.HTTPRequestIDBytes+1)))
	wantError(t, err, protocol.CodeInvalidParams, "http/request streamResponse requestId is too long: it has 65537 bytes, and may have 65536")
	end()
	begin(t, c.Connection, 1, func(int) *protocol.HTTPRequestParams { return stream(url, "7") })()
	checkEmpty(t, c.Connection)
}

func TestExchangesInAll(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{})
	of := func(int) *protocol.HTTPRequestParams { return get("http://127.0.0.1:1") }
	var ends []func()
	for range limits.HTTPExchangesTotal / limits.HTTPExchanges {
		ends = append(ends, begin(t, clientOf(t, c.fetcher).Connection, limits.HTTPExchanges, of))
	}
	_, err := c.Begin(of(0))
	wantError(t, err, protocol.CodeInternal, "http/request failed: the executor has 4096 requests and streams under way")
	for _, end := range ends {
		end()
	}
	begin(t, c.Connection, 1, of)()
	checkEmpty(t, c.Connection)
}

func TestMemory(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	c := newClient(t, Config{})
	c.fetcher.memory.limit = 1 << 20 // instead of half a gigabyte
	body := protocol.Bytes(make([]byte, 1<<20+1))
	p := get(origin.URL)
	p.BodyBase64 = &body
	_, err := c.do(p)
	wantError(t, err, protocol.CodeInternal, "http/request failed: the bodies of all requests together take nearly 512 MiB")
	_, err = c.do(get(origin.URL))
	wantError(t, err, protocol.CodeInternal, "failed to read http/request response body: the bodies of all requests together take nearly 512 MiB")
	c.fetcher.memory.limit = 2 << 20
	for range 3 {
		c.must(get(origin.URL))
	}
	checkEmpty(t, c.Connection)
}

func TestMaxBody(t *testing.T) {
	t.Parallel()
	const size = 300_000
	content := bytes.Repeat([]byte("0123456789"), size/10)
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		_, _ = w.Write(content)
	})
	for _, path := range []string{"/", "/announced"} {
		if result := newClient(t, Config{MaxBodyBytes: size}).must(get(origin.URL + path)); !bytes.Equal(result.BodyBase64, content) {
			t.Errorf("got %d bytes", len(result.BodyBase64))
		}
		_, err := newClient(t, Config{MaxBodyBytes: size - 1}).do(get(origin.URL + path))
		wantError(t, err, protocol.CodeInternal, "failed to read http/request response body: it has more than 299999 bytes; ask for it with streamResponse")
		c := newClient(t, Config{MaxBodyBytes: 1})
		c.must(stream(origin.URL+path, "s"))
		if text, err := c.body("s"); text != string(content) || err != nil {
			t.Errorf("got %d bytes, %v", len(text), err)
		}
	}
}

// TestManyStreams: 300 streams of one client at the same time.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	origin := newHang(t)
	c := newClient(t, Config{})
	for i := range 300 {
		c.must(stream(origin.URL+"/headers", fmt.Sprint(i)))
	}
	for i := range 300 {
		c.await(fmt.Sprint(i), func(parts []protocol.HTTPBodyDeltaNotification) bool { return len(parts) == 1 })
	}
	c.Close()
	checkEmpty(t, c.Connection)
}

// TestLargeBuffers: when all large buffers are lent, streams go on with small ones.
func TestLargeBuffers(t *testing.T) {
	t.Parallel()
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 4<<20)) })
	c := newClient(t, Config{})
	large := &c.fetcher.large
	for range limits.HTTPLargeReads {
		lent := large.take()
		t.Cleanup(func() { large.give(lent) })
	}
	if large.take() != nil {
		t.Error("more are lent than there are")
	}
	c.must(stream(origin.URL, "s"))
	if text, err := c.body("s"); len(text) != 4<<20 || err != nil {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
	for _, part := range c.parts {
		if len(part.DeltaBase64) > limits.HTTPReadBytes {
			t.Fatalf("a part has %d bytes", len(part.DeltaBase64))
		}
	}
}

// TestReuse asserts that an id can be used again as soon as the client sees the
// end of its stream.
func TestReuse(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan struct{})
	c := f.Connection(func(n *protocol.HTTPBodyDeltaNotification) error {
		if n.Done {
			ends <- struct{}{} // as if the client were as quick as can be
		}
		return nil
	})
	defer c.Close()
	for range 20 {
		e, err := c.Begin(stream(origin.URL+"/x", "s"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.Sent()
		wait(t, ends, "the end")
	}
}
