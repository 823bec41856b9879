package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// environment is what a fetcher under test sees of the environment.
type environment map[string]string

func (e environment) lookup(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

// client is one whose requests are made.
type client struct {
	*Connection
	t *testing.T

	mu    sync.Mutex
	parts []protocol.HTTPBodyDeltaNotification // guarded by mu
	news  chan struct{}                        // holds something when there are new parts
}

// newClient returns the client of a new executor.
func newClient(t *testing.T, config Config) *client {
	t.Helper()
	if config.LookupEnv == nil {
		config.LookupEnv = environment{}.lookup
	}
	f, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return clientOf(t, f)
}

func clientOf(t *testing.T, f *Fetcher) *client {
	c := &client{t: t, news: make(chan struct{}, 1)}
	c.Connection = f.Connection(c.take)
	t.Cleanup(c.Close)
	return c
}

// take takes a part as a connection does: it copies it.
func (c *client) take(n *protocol.HTTPBodyDeltaNotification) error {
	part := *n
	part.DeltaBase64 = append(protocol.Bytes{}, n.DeltaBase64...)
	c.mu.Lock()
	c.parts = append(c.parts, part)
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
	return nil
}

// do makes a request as the server does.
func (c *client) do(p *protocol.HTTPRequestParams) (*protocol.HTTPRequestResult, error) {
	c.t.Helper()
	e, err := c.Begin(p)
	if err != nil {
		return nil, err
	}
	defer e.Sent()
	return e.Do(c.t.Context())
}

// must makes a request that has to succeed.
func (c *client) must(p *protocol.HTTPRequestParams) *protocol.HTTPRequestResult {
	c.t.Helper()
	result, err := c.do(p)
	if err != nil {
		c.t.Fatal(err)
	}
	return result
}

// await waits until the parts are as they should be, and returns those of a stream.
func (c *client) await(id string, good func([]protocol.HTTPBodyDeltaNotification) bool) []protocol.HTTPBodyDeltaNotification {
	c.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		var of []protocol.HTTPBodyDeltaNotification
		for _, part := range c.parts {
			if part.RequestID == id {
				of = append(of, part)
			}
		}
		c.mu.Unlock()
		if good(of) {
			return of
		}
		select {
		case <-c.news:
		case <-deadline:
			c.t.Fatalf("stream %q did not get there: %+v", id, of)
		}
	}
}

// body waits for the end of a stream and returns what it had, and its error.
func (c *client) body(id string) (string, *string) {
	c.t.Helper()
	parts := c.await(id, func(parts []protocol.HTTPBodyDeltaNotification) bool {
		return len(parts) > 0 && parts[len(parts)-1].Done
	})
	var text strings.Builder
	for i, part := range parts {
		if part.Seq != uint64(i+1) {
			c.t.Errorf("part %d has number %d", i+1, part.Seq)
		}
		text.Write(part.DeltaBase64)
	}
	last := parts[len(parts)-1]
	if len(last.DeltaBase64) > 0 {
		c.t.Error("the last part has data")
	}
	return text.String(), last.Error
}

// get returns the parameters of a simple request.
func get(url string) *protocol.HTTPRequestParams {
	return &protocol.HTTPRequestParams{Method: "GET", URL: url, RequestID: "r"}
}

// stream returns the parameters of one whose body is streamed.
func stream(url, id string) *protocol.HTTPRequestParams {
	return &protocol.HTTPRequestParams{Method: "GET", URL: url, RequestID: id, StreamResponse: true}
}

// with adds headers: name, value, name, value.
func with(p *protocol.HTTPRequestParams, pairs ...string) *protocol.HTTPRequestParams {
	for i := 0; i < len(pairs); i += 2 {
		p.Headers = append(p.Headers, protocol.HTTPHeaderParam{Name: pairs[i], Value: pairs[i+1]})
	}
	return p
}

// serve starts an origin.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	origin := httptest.NewServer(handler)
	t.Cleanup(origin.Close)
	return origin
}

// wantError asserts the code of an error and how its text begins.
func wantError(t *testing.T, err error, code protocol.Code, start string) {
	t.Helper()
	wire, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of the protocol", err)
	}
	if wire.Code != code || !strings.HasPrefix(wire.Message, start) {
		t.Errorf("got %d %q, want %d %q…", wire.Code, wire.Message, code, start)
	}
}

// header returns the values of a header of an answer.
func header(result *protocol.HTTPRequestResult, name string) []string {
	var values []string
	for _, h := range result.Headers {
		if h.Name == name {
			values = append(values, h.Value)
		}
	}
	return values
}
