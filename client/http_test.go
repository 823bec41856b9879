package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// part tells a part of the body of the newest request.
func (f *fake) part(seq uint64, data string, done bool, failure *string) {
	f.partOf(f.files.newest(), seq, data, done, failure)
}

func (f *fake) partOf(id string, seq uint64, data string, done bool, failure *string) {
	f.send(protocol.NotificationHTTPBodyDelta, &protocol.HTTPBodyDeltaNotification{
		RequestID: id, Seq: seq, DeltaBase64: []byte(data), Done: done, Error: failure,
	})
}

// newest returns the id of the newest request.
func (f *fakeFiles) newest() string {
	requests := f.requested()
	return requests[len(requests)-1].RequestID
}

func get(t *testing.T, e Executor) io.ReadCloser {
	t.Helper()
	result, body, err := e.HTTP().Stream(t.Context(), protocol.HTTPRequestParams{Method: "GET", URL: "http://h/"})
	if err != nil || result.Status != 200 {
		t.Fatal(result, err)
	}
	return body
}

// TestBody: a body ends as the executor tells.
func TestBody(t *testing.T) {
	for name, test := range map[string]struct {
		tell func(f *fake)
		body string
		want error
	}{
		"whole": {func(f *fake) { f.part(1, "ab", false, nil); f.part(2, "c", false, nil); f.part(3, "", true, nil) }, "abc", nil},
		"empty": {func(f *fake) { f.part(1, "", true, nil) }, "", nil},
		"failed": {
			func(f *fake) { f.part(1, "ab", false, nil); f.part(2, "", true, new("error decoding response body")) },
			"ab", io.ErrUnexpectedEOF,
		},
		"cut":       {func(f *fake) { f.part(1, "ab", false, nil); time.Sleep(time.Second); f.cut() }, "ab", io.ErrUnexpectedEOF},
		"with gaps": {func(f *fake) { f.part(1, "ab", false, nil); f.part(3, "d", true, nil) }, "ab", errPartMissing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				e := open(t, f, Options{})
				body := get(t, e)
				go test.tell(f)
				data, err := io.ReadAll(body)
				if string(data) != test.body || !errors.Is(err, test.want) {
					t.Errorf("%q, error %v", data, err)
				}
				if n := e.streaming(); n != 0 {
					t.Errorf("%d streams are remembered", n)
				}
				_ = body.Close()
				if _, err := body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
					t.Errorf("when closed: %v", err)
				}
			})
		})
	}
}

// TestBodyUnread: a body that nobody reads is given up after a while, and nothing else
// with it.
func TestBodyUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		body := get(t, e)
		part := strings.Repeat("x", 1<<20)
		for i := range uint64(limits.HTTPUnreadBytes >> 20) {
			f.part(i+1, part, false, nil)
		}
		began := time.Now()
		if _, err := e.Status(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("with as much as may wait: answered after %v, error %v", time.Since(began), err)
		}
		f.part(limits.HTTPUnreadBytes>>20+1, part, false, nil)
		if _, err := e.Status(t.Context()); err != nil || time.Since(began) != limits.HTTPUnreadTime {
			t.Errorf("with more: answered after %v, error %v", time.Since(began), err)
		}
		if n, err := io.Copy(io.Discard, body); n != 0 || !errors.Is(err, ErrBodyUnread) {
			t.Errorf("%d bytes, error %v", n, err)
		}
		if n := e.streaming(); n != 0 {
			t.Errorf("%d streams are remembered", n)
		}
	})
}

// TestBodiesUnread: however many bodies nobody reads, they delay everything else once,
// and no more of them are given up than must be.
func TestBodiesUnread(t *testing.T) {
	const some = limits.HTTPUnreadTotalBytes / 8
	for name, test := range map[string]struct {
		bodies, bytes int // that wait in each
		more          string
		delay         time.Duration
		givenUp       int
	}{
		"as much as may be": {4, limits.HTTPUnreadTotalBytes/4 - len("read")/4, "", 0, 0},
		"each too large":    {3, limits.HTTPUnreadBytes, "x", limits.HTTPUnreadTime, 3},
		"too large in all":  {8, some, "x", limits.HTTPUnreadTime, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				e := open(t, f, Options{})
				began := time.Now()
				var bodies []io.ReadCloser
				for range test.bodies {
					body := get(t, e)
					bodies = append(bodies, body)
					e.streams.arrive(t.Context(), &protocol.HTTPBodyDeltaNotification{
						RequestID: f.files.newest(), Seq: 1, DeltaBase64: make([]byte, test.bytes),
					})
				}
				read := get(t, e)
				f.part(1, "read", false, nil)
				f.part(2, "", true, nil)
				for _, r := range f.files.requested()[:test.bodies] {
					f.partOf(r.RequestID, 2, test.more, false, nil)
					f.partOf(r.RequestID, 3, "", true, nil)
				}
				if _, err := e.Status(t.Context()); err != nil || time.Since(began) != test.delay {
					t.Errorf("answered after %v, error %v", time.Since(began), err)
				}
				if data, err := io.ReadAll(read); string(data) != "read" || err != nil {
					t.Errorf("a body that is read: %q, error %v", data, err)
				}
				givenUp := 0
				for _, body := range bodies {
					n, err := io.Copy(io.Discard, body)
					switch {
					case errors.Is(err, ErrBodyUnread):
						givenUp++
					case err != nil || int(n) != test.bytes+len(test.more):
						t.Errorf("%d bytes, error %v", n, err)
					}
				}
				if givenUp != test.givenUp || e.streams.bytes != 0 {
					t.Errorf("%d bodies are given up, %d bytes are counted", givenUp, e.streams.bytes)
				}
			})
		})
	}
}

// TestBodyOfTheEnded: a body whose context has ended holds nothing back, although
// nobody has closed it, and one whose connection is lost is not remembered.
func TestBodyOfTheEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, body, err := e.HTTP().Stream(ctx, protocol.HTTPRequestParams{Method: "GET", URL: "http://h/"})
		if err != nil {
			t.Fatal(err)
		}
		f.part(1, "x", false, nil)
		synctest.Wait()
		cancel()
		e.streams.arrive(t.Context(), &protocol.HTTPBodyDeltaNotification{
			RequestID: f.files.newest(), Seq: 2, DeltaBase64: make([]byte, limits.HTTPUnreadBytes),
		})
		f.part(3, "x", false, nil)
		began := time.Now()
		if _, err := e.Status(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("answered after %v, error %v", time.Since(began), err)
		}
		if n, err := body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes, error %v", n, err)
		}
		_ = get(t, e)
		f.cut()
		synctest.Wait()
		if n := e.streaming(); n != 0 {
			t.Errorf("%d streams are remembered", n)
		}
	})
}

// TestBodyCutWhileHeld: what has come of a body is read also if the connection that it
// holds back is lost.
func TestBodyCutWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		body := get(t, e)
		e.streams.arrive(t.Context(), &protocol.HTTPBodyDeltaNotification{
			RequestID: f.files.newest(), Seq: 1, DeltaBase64: make([]byte, limits.HTTPUnreadBytes),
		})
		f.part(2, "x", false, nil)
		synctest.Wait()
		f.cut()
		synctest.Wait()
		n, err := io.Copy(io.Discard, body)
		if n != limits.HTTPUnreadBytes+1 || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrBodyUnread) {
			t.Errorf("%d bytes, error %v", n, err)
		}
	})
}

// TestBodyReadSlowly: a body of which something is taken is not given up, if there is
// room for the next part of it in time.
func TestBodyReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		body := get(t, e)
		part := strings.Repeat("x", 1<<20)
		const parts = limits.HTTPUnreadBytes>>20 + 5
		go func() {
			for i := range uint64(parts) {
				f.part(i+1, part, false, nil)
			}
			f.part(parts+1, "", true, nil)
		}()
		total := 0
		buf := make([]byte, 1<<18)
		for {
			time.Sleep(limits.HTTPUnreadTime - 1)
			n, err := body.Read(buf)
			total += n
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if total != parts<<20 {
			t.Errorf("%d bytes", total)
		}
	})
}

// TestBodyReadTooSlowly: what is taken of a body now and then must make room.
func TestBodyReadTooSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		body := get(t, e)
		e.streams.arrive(t.Context(), &protocol.HTTPBodyDeltaNotification{
			RequestID: f.files.newest(), Seq: 1, DeltaBase64: make([]byte, limits.HTTPUnreadBytes),
		})
		f.part(2, strings.Repeat("x", 100), false, nil)
		failed := make(chan error)
		go func() {
			var err error
			for err == nil {
				time.Sleep(time.Second)
				_, err = body.Read(make([]byte, 1))
			}
			failed <- err
		}()
		began := time.Now()
		if _, err := e.Status(t.Context()); err != nil || time.Since(began) != limits.HTTPHoldTime {
			t.Errorf("answered after %v, error %v", time.Since(began), err)
		}
		if err := <-failed; !errors.Is(err, ErrBodyUnread) {
			t.Errorf("got %v", err)
		}
	})
}

// TestBodyEnds: what reads a body ends with its context, and with it the connection is
// held back no longer, as it is when the body or the executor is closed.
func TestBodyEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(cancel func(), body io.Closer, e Executor)
		want error
	}{
		"context":  {func(cancel func(), _ io.Closer, _ Executor) { cancel() }, context.Canceled},
		"body":     {func(_ func(), body io.Closer, _ Executor) { _ = body.Close() }, http.ErrBodyReadAfterClose},
		"executor": {func(_ func(), _ io.Closer, e Executor) { _ = e.Close() }, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				e := open(t, f, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, body, err := e.HTTP().Stream(ctx, protocol.HTTPRequestParams{Method: "GET", URL: "http://h/"})
				if err != nil {
					t.Fatal(err)
				}
				failed := make(chan error)
				go func() {
					_, err := body.Read(make([]byte, 1))
					failed <- err
				}()
				synctest.Wait()
				test.end(cancel, body, e)
				if err := <-failed; !errors.Is(err, test.want) {
					t.Errorf("ended with %v", err)
				}
				_ = body.Close()
			})
		})
	}
}

// TestRequestOverCuts: only a request that does nothing is made twice.
func TestRequestOverCuts(t *testing.T) {
	for method, want := range map[string]error{"GET": nil, "HEAD": nil, "POST": ErrOutcomeUnknown, "get": ErrOutcomeUnknown} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, pacing...)
				e := open(t, f, Options{})
				cuts := 0
				f.mu.Lock()
				f.after = func(asked string) bool {
					cut := asked == protocol.MethodHTTPRequest && cuts == 0
					if cut {
						cuts++
					}
					return cut
				}
				f.mu.Unlock()
				_, body, err := e.HTTP().Stream(t.Context(), protocol.HTTPRequestParams{Method: method, URL: "http://h/"})
				if !errors.Is(err, want) {
					t.Errorf("error %v", err)
				}
				if err == nil {
					_ = body.Close()
				}
				if n := len(f.files.requested()); (n == 2) != (want == nil) {
					t.Errorf("made %d times", n)
				}
				if n := e.streaming(); n != 0 {
					t.Errorf("%d streams are remembered", n)
				}
			})
		})
	}
}

// TestRoundTrip: a request travels as it is, but for what the executor makes anew.
func TestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, pacing...)
		e := open(t, f, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "PUT", "http://h:1/p?q=1#f", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "other"
		r.Header = http.Header{"X-B": {"1", "2"}, "X-A": {"3"}, "Content-Length": {"9"}, "Host": {"x"}}
		response, err := e.HTTP().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		go f.part(1, "", true, nil)
		if _, err := io.ReadAll(response.Body); err != nil {
			t.Error(err)
		}
		_ = response.Body.Close()
		if response.Status != "200 OK" || response.StatusCode != 200 || response.Header.Get("X-Test") != "1" || response.Request != r {
			t.Errorf("%+v", response)
		}
		got := f.files.requested()[0]
		got.RequestID = ""
		want := protocol.HTTPRequestParams{
			Method: "PUT", URL: "http://h:1/p?q=1", BodyBase64: new(protocol.Bytes("body")),
			Headers: []protocol.HTTPHeaderParam{
				{Name: "host", Value: "other"}, {Name: "X-A", Value: "3"}, {Name: "X-B", Value: "1"}, {Name: "X-B", Value: "2"},
			},
			TimeoutMs: new(uint64(1001)), RedirectPolicy: protocol.RedirectStop, StreamResponse: true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// closable tells whether it has been closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// TestRequestBody: bodies of requests are bounded, and closed.
func TestRequestBody(t *testing.T) {
	for _, test := range []struct {
		size int
		ok   bool
	}{{0, true}, {limits.HTTPRequestBytes, true}, {limits.HTTPRequestBytes + 1, false}} {
		body := &closable{Reader: bytes.NewReader(make([]byte, test.size))}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = int64(test.size)
		params, err := paramsOf(r)
		if (err == nil) != test.ok || !body.closed {
			t.Errorf("%d bytes: error %v, closed: %v", test.size, err, body.closed)
		}
		if test.ok && (params.BodyBase64 == nil) != (test.size == 0) {
			t.Errorf("%d bytes: the body is %v", test.size, params.BodyBase64 != nil)
		}
	}
}

// TestDoIsBounded: an answer that is held in memory has a bound.
func TestDoIsBounded(t *testing.T) {
	f := newFake(t, pacing...)
	e := open(t, f, Options{})
	part := strings.Repeat("x", 1<<20)
	for parts, want := range map[int]error{limits.HTTPWholeBytes >> 20: nil, limits.HTTPWholeBytes>>20 + 1: ErrTooLarge} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-f.files.made
			for i := range parts {
				f.part(uint64(i)+1, part, false, nil)
			}
			f.part(uint64(parts)+1, "", true, nil)
		}()
		result, err := e.HTTP().Do(t.Context(), protocol.HTTPRequestParams{Method: "GET", URL: "http://h/"})
		if !errors.Is(err, want) || err == nil && len(result.BodyBase64) != parts<<20 {
			t.Errorf("%d MiB: error %v", parts, err)
		}
		<-done
	}
}

// TestHeaders: the order of headers is always the same.
func TestHeaders(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "http://h/", nil)
	for name := range strings.SplitSeq("a b c d e f g h", " ") {
		r.Header.Set(name, "x")
	}
	names := []string{}
	for _, h := range headersOf(r) {
		names = append(names, h.Name)
	}
	if !slices.IsSorted(names) || len(names) != 8 {
		t.Errorf("%q", names)
	}
}
