package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// hang is an origin that answers nothing, or nothing more, until the other side
// is gone. It tells what it got and what has ended.
type hang struct {
	URL            string
	began, aborted chan struct{}
}

func newHang(t *testing.T) *hang {
	t.Helper()
	h := &hang{began: make(chan struct{}, 1000), aborted: make(chan struct{}, 1000)}
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/headers" {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "part")
			w.(http.Flusher).Flush()
		}
		h.began <- struct{}{}
		<-r.Context().Done()
		h.aborted <- struct{}{}
	})
	h.URL = origin.URL
	return h
}

func wait(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	origin := newHang(t)
	c := newClient(t, Config{})
	timed := func(path string, ms uint64) *protocol.HTTPRequestParams {
		p := get(origin.URL + path)
		p.TimeoutMs = &ms
		return p
	}
	_, err := c.do(timed("/", 0))
	wantError(t, err, protocol.CodeInternal, "http/request failed: route-aware request timed out")
	if len(origin.began) > 0 {
		t.Error("a request without time was sent")
	}
	_, err = c.do(timed("/", 30))
	wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url ("+origin.URL+"/): it took longer than the 30 ms of timeoutMs")
	wait(t, origin.aborted, "the end of the request")
	_, err = c.do(timed("/headers", 100))
	wantError(t, err, protocol.CodeInternal, "failed to read http/request response body: error decoding response body: it took longer than the 100 ms")
	wait(t, origin.aborted, "the end of the body")
	p := timed("/headers", 200)
	p.StreamResponse = true
	c.must(p)
	text, fault := c.body("r")
	if text != "part" || fault == nil || !strings.HasPrefix(*fault, "error decoding response body: it took longer than the 200 ms") {
		t.Errorf("got %q, %v", text, fault)
	}
	wait(t, origin.aborted, "the end of the stream")
}

func TestLongTimeout(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	p := get(origin.URL + "/x")
	p.TimeoutMs = new(uint64(1<<64 - 1))
	newClient(t, Config{}).must(p)
}

// TestCut asserts what becomes of a body that ends before its end.
func TestCut(t *testing.T) {
	t.Parallel()
	origin := serveRaw(t, map[string]string{
		"/length": plain("partial", "content-length: 100"),
		"/chunks": plain("7\r\npartial\r\n", "transfer-encoding: chunked"),
	})
	for _, path := range []string{"/length", "/chunks"} {
		c := newClient(t, Config{})
		_, err := c.do(get(origin.URL + path))
		wantError(t, err, protocol.CodeInternal, "failed to read http/request response body: error decoding response body: it ends early")
		c.must(stream(origin.URL+path, "s"))
		text, fault := c.body("s")
		if text != "partial" || fault == nil || *fault != "error decoding response body: it ends early" {
			t.Errorf("got %q, %v", text, fault)
		}
	}
}

func TestSendErrors(t *testing.T) {
	t.Parallel()
	origin := serveRaw(t, map[string]string{
		"/garbage": "s3cret garbage\r\n\r\n",
		"/status":  "HTTP/1.1 s3cret\r\n\r\n",
		"/headers": plain("", "s3cret"),
		"/large":   plain("", "x: "+strings.Repeat("s3cret", limits.HTTPAnswerHeaderBytes/6)),
	})
	for path, want := range map[string]string{
		"/":        "the server closed the connection without an answer",
		"/garbage": "malformed HTTP",
		"/status":  "malformed HTTP status code",
		"/headers": "the answer has malformed headers",
		"/large":   "net/http: server response headers exceeded",
	} {
		_, err := newClient(t, Config{}).do(get(origin.URL + path))
		wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url ("+origin.URL+path+"): ")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := newClient(t, Config{}).do(get("http://u:p@127.0.0.1:1/x?q=1#f"))
	wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url (http://127.0.0.1:1/x?q=1#f): connection refused")
	_, err = newClient(t, Config{}).do(get("http://nope.invalid"))
	wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url (http://nope.invalid/): ")
}

// TestClose asserts that a client that goes takes everything with it at once.
func TestClose(t *testing.T) {
	t.Parallel()
	origin := newHang(t)
	c := newClient(t, Config{})
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			_, err := c.do(get(origin.URL))
			wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url ("+origin.URL+"/): the client has disconnected")
		})
		calls.Go(func() {
			_, err := c.do(get(origin.URL + "/headers"))
			// The headers may still be on their way.
			wantError(t, err, protocol.CodeInternal, "")
			if err != nil && !strings.HasSuffix(err.Error(), ": the client has disconnected") {
				t.Error(err)
			}
		})
	}
	for i := range 3 {
		c.must(stream(origin.URL+"/headers", fmt.Sprint(i)))
	}
	for range 9 {
		wait(t, origin.began, "a request")
	}
	late, err := c.Begin(stream(origin.URL+"/headers", "late"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	never, err := c.Begin(get(origin.URL))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for range 10 {
		wait(t, origin.aborted, "the end of a request")
	}
	calls.Wait()
	late.Sent()
	_, err = never.Do(t.Context())
	wantError(t, err, protocol.CodeInternal, "http/request failed: the client has disconnected")
	never.Sent()
	never.Sent() // once is enough
	checkEmpty(t, c.Connection)
}

// checkEmpty asserts that nothing is reserved any more.
func checkEmpty(t *testing.T, c *Connection) {
	t.Helper()
	c.mu.Lock()
	exchanges, streams := c.exchanges, len(c.streams)
	c.mu.Unlock()
	c.scope.mu.Lock()
	inside := len(c.scope.ends)
	c.scope.mu.Unlock()
	f := c.fetcher
	memory, all, lent := f.memory.used.Load(), f.exchanges.used.Load(), f.large.lent.used.Load()
	if exchanges != 0 || streams != 0 || inside != 0 || memory != 0 || all != 0 || lent != 0 {
		t.Errorf("there are %d exchanges, %d ids, %d under way; in all %d bytes, %d exchanges, %d buffers", exchanges, streams, inside, memory, all, lent)
	}
}

// TestCancel asserts that the end of a request's context ends it, and does not end
// a stream that has begun.
func TestCancel(t *testing.T) {
	t.Parallel()
	origin := newHang(t)
	c := newClient(t, Config{})
	ctx, cancel := context.WithCancelCause(t.Context())
	e, err := c.Begin(get(origin.URL))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-origin.began
		cancel(errors.New("enough"))
	}()
	_, err = e.Do(ctx)
	wantError(t, err, protocol.CodeInternal, "http/request failed: error sending request for url ("+origin.URL+"/): enough")
	e.Sent()
	wait(t, origin.aborted, "the end of the request")

	ctx, cancel = context.WithCancelCause(t.Context())
	if e, err = c.Begin(stream(origin.URL+"/headers", "s")); err != nil {
		t.Fatal(err)
	}
	if _, err = e.Do(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(nil)
	e.Sent()
	c.await("s", func(parts []protocol.HTTPBodyDeltaNotification) bool { return len(parts) > 0 })
	if len(origin.aborted) > 0 {
		t.Error("the stream ended with the request")
	}
}

// TestOrder asserts that nothing is told of a body before the answer is sent.
func TestOrder(t *testing.T) {
	t.Parallel()
	origin := serve(t, echo)
	told := make(chan struct{}, 10)
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Connection(func(*protocol.HTTPBodyDeltaNotification) error { told <- struct{}{}; return nil })
	defer c.Close()
	e, err := c.Begin(stream(origin.URL+"/x", "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) > 0 {
		t.Error("a part came before the answer")
	}
	e.Sent()
	wait(t, told, "the first part")
}

// TestGone asserts that a stream ends when its client can't be told.
func TestGone(t *testing.T) {
	t.Parallel()
	origin := newHang(t)
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	c := f.Connection(func(*protocol.HTTPBodyDeltaNotification) error { told++; return io.ErrClosedPipe })
	e, err := c.Begin(stream(origin.URL+"/headers", "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Sent()
	wait(t, origin.aborted, "the end of the stream")
	c.Close()
	if told != 1 {
		t.Errorf("the client was told %d times", told)
	}
	checkEmpty(t, c)
}
