package fetch

import (
	"context"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Exchange is one request and its answer.
type Exchange struct {
	conn    *Connection
	request *request
	id      string
	stream  bool
	holdsID bool
	timeout *uint64 // in milliseconds
	sent    sync.Once
	memory  int64 // bytes taken of the budget

	// What Do leaves for Sent, if the body is to be streamed.
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	cause  func(error) string
}

// Begin checks a request and reserves what it takes. Errors are of type
// [*protocol.Error].
func (c *Connection) Begin(p *protocol.HTTPRequestParams) (*Exchange, error) {
	if err := c.reserve(p); err != nil {
		return nil, err
	}
	e := &Exchange{conn: c, id: p.RequestID, stream: p.StreamResponse, holdsID: p.StreamResponse, timeout: p.TimeoutMs}
	var err error
	if e.request, err = c.fetcher.check(p); err == nil && !e.takeMemory(int64(len(e.request.body))) {
		err = failed("%v", errNoMemory)
	}
	if err != nil {
		e.finish()
		return nil, err
	}
	return e, nil
}

// takeMemory takes a share of what all bodies may take.
func (e *Exchange) takeMemory(n int64) bool {
	if !e.conn.fetcher.memory.take(n) {
		return false
	}
	e.memory += n
	return true
}

// finish gives back what has been reserved.
func (e *Exchange) finish() {
	e.conn.fetcher.memory.give(e.memory)
	e.freeID()
	e.conn.release()
}

// freeID lets another stream have the id.
func (e *Exchange) freeID() {
	if e.holdsID {
		e.conn.forget(e.id)
		e.holdsID = false
	}
}

// Do carries the request out: until the headers of the answer are there if the
// body is to be streamed, else until its end. Errors are of type
// [*protocol.Error].
func (e *Exchange) Do(ctx context.Context) (*protocol.HTTPRequestResult, error) {
	if e.timeout != nil && *e.timeout == 0 {
		return nil, failed("route-aware request timed out")
	}
	// A stream outlives the call.
	running, cancel := e.start(ctx)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	leave, ok := e.conn.scope.enter(func() { cancel(errClosed) })
	if !ok {
		cancel(errClosed)
		return nil, failed("%v", errClosed)
	}
	defer leave()
	result, err := e.do(running)
	if err != nil || e.body == nil {
		cancel(nil)
	}
	e.cancel = cancel
	return result, err
}

// start returns the context of all that the exchange does.
func (e *Exchange) start(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	const longest = math.MaxInt64 / uint64(time.Millisecond)
	if e.timeout == nil || *e.timeout > longest {
		return ctx, cancel
	}
	timer := time.AfterFunc(time.Duration(*e.timeout)*time.Millisecond, func() { cancel(&deadlineError{*e.timeout}) })
	return ctx, func(cause error) {
		timer.Stop()
		cancel(cause)
	}
}

// do sends the request and takes the answer.
func (e *Exchange) do(ctx context.Context) (*protocol.HTTPRequestResult, error) {
	answer, head, err := e.follow(ctx)
	if err != nil {
		return nil, err
	}
	headers := answerHeaders(answer, head)
	body, decoded := e.conn.fetcher.decoded(answer)
	if decoded {
		headers.drop("content-encoding", "content-length")
		answer.ContentLength = -1
	}
	result := &protocol.HTTPRequestResult{
		Status:     uint16(answer.StatusCode),
		Headers:    headers,
		BodyBase64: protocol.Bytes{},
	}
	if !hasBody(answer, e.request.method) {
		_ = body.Close()
		body = http.NoBody
	}
	if e.stream {
		e.body = body
		e.cause = func(err error) string { return e.bodyText(ctx, err) }
		return result, nil
	}
	defer body.Close()
	result.BodyBase64, err = e.readBody(ctx, body, answer.ContentLength)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// follow sends the request, and what follows from redirects. With the answer comes
// its head, if it is known.
func (e *Exchange) follow(ctx context.Context) (*http.Response, []byte, error) {
	routes, err := e.conn.route()
	if err != nil {
		return nil, nil, err
	}
	for hops := 0; ; hops++ {
		if err := e.conn.fetcher.denied.Host(e.request.url.Host); err != nil {
			return nil, nil, e.sendError(ctx, err)
		}
		answer, head, err := routes.send(ctx, e.request)
		if err != nil {
			return nil, nil, e.sendError(ctx, err)
		}
		if !e.request.follow {
			return answer, head, nil
		}
		target := redirected(answer, e.request.url)
		if target == nil {
			return answer, head, nil
		}
		discard(answer.Body)
		if !supported(target.Scheme) {
			return nil, nil, failed("redirect target uses unsupported URL scheme: %s", target.Scheme)
		}
		if hops == limits.HTTPRedirects {
			return nil, nil, failed("too many redirects")
		}
		e.request = e.request.next(answer.StatusCode, target)
	}
}

// discard reads what is left of a small body, so that the connection can be used
// for the next request.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, limits.HTTPReadBytes)
	_ = body.Close()
}

// Sent says that the answer has been queued, or can't be. Then the stream begins.
func (e *Exchange) Sent() {
	e.sent.Do(func() {
		if e.body == nil {
			e.finish()
			return
		}
		leave, ok := e.conn.scope.enter(func() { e.cancel(errClosed) })
		if !ok {
			e.end()
			return
		}
		go func() {
			defer leave()
			e.run()
		}()
	})
}
