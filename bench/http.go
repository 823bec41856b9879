package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// httpParams are the params of http/request.
type httpParams struct {
	Method         string `json:"method"`
	URL            string `json:"url"`
	RequestID      string `json:"requestId"`
	StreamResponse bool   `json:"streamResponse"`
}

// httpStream has a server fetch a large body from an origin within this program,
// and counts what it passes on.
func httpStream(ctx context.Context, t *target, n sizes) (s sample, err error) {
	origin, err := startOrigin(n.bodyMiB)
	if err != nil {
		return nil, err
	}
	defer origin.stop()
	err = t.withClient(ctx, nil, func(c *client, _ *instance) error {
		begin := time.Now()
		if _, err := c.send("http/request", httpParams{http.MethodGet, origin.url, "body", true}); err != nil {
			return err
		}
		received := 0
		for {
			e, err := c.next()
			if err != nil {
				return err
			}
			if e.kind == eventBody {
				received += e.chunkLen()
			}
			if e.last {
				break
			}
		}
		if received != n.bodyMiB*mebibyte {
			return fmt.Errorf("http/request: got %d bytes of %d", received, n.bodyMiB*mebibyte)
		}
		s = sample{"rate": perSecond(float64(n.bodyMiB), begin)}
		return nil
	})
	return s, err
}

// bareHTTPStream fetches the body itself, and drops it.
func bareHTTPStream(ctx context.Context, n sizes) (sample, error) {
	origin, err := startOrigin(n.bodyMiB)
	if err != nil {
		return nil, err
	}
	defer origin.stop()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin.url, nil)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	received, err := io.Copy(io.Discard, response.Body)
	if err == nil && received != int64(n.bodyMiB*mebibyte) {
		err = fmt.Errorf("got %d bytes of %d", received, n.bodyMiB*mebibyte)
	}
	return sample{"rate": perSecond(float64(n.bodyMiB), begin)}, err
}

// origin is an HTTP server whose every answer is the same large body.
type origin struct {
	url    string
	server *http.Server
	over   chan struct{} // closed when it does not serve any more
}

func startOrigin(bodyMiB int) (*origin, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening as an origin: %w", err)
	}
	piece := bytes.Repeat([]byte("airlock "), mebibyte/8)
	o := &origin{url: "http://" + listener.Addr().String() + "/", over: make(chan struct{})}
	o.server = &http.Server{
		ReadHeaderTimeout: measureTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range bodyMiB {
				if _, err := w.Write(piece); err != nil {
					return // who asked is gone, and knows why
				}
			}
		}),
	}
	go func() {
		defer close(o.over)
		_ = o.server.Serve(listener) // when it fails, so do those who ask
	}()
	return o, nil
}

// stop ends the origin, with whatever it is sending.
func (o *origin) stop() {
	_ = o.server.Close() // nothing is lost
	<-o.over
}
