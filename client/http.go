package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Errors to branch on, of HTTP.
var (
	// ErrBodyUnread: a body has been given up, as much of it was waiting to be read.
	ErrBodyUnread = errors.New("the body of the answer has been given up, as it was not read while more of it came")
)

// HTTP makes HTTP requests from an executor's host: with its network, its proxies and
// its certificates. It implements [http.RoundTripper], so that
//
//	&http.Client{Transport: executor.HTTP()}
//
// is a client that lives there.
//
// # Bodies of answers
//
// They are streamed. Up to 16 MiB of a body wait here to be read, and 64 MiB of all.
// The dialect has no way to hold back one body alone: when there is more, nothing is
// read from the connection until there is room. A body that is in the way is given up
// if nothing is taken of it for 5 seconds, or too little for the next part of it (up to
// 1 MiB) in 30 seconds; reading it then fails with [ErrBodyUnread]. So a large body must
// be read without waiting for anything else from the executor, and one that is not
// read delays everything else by 5 seconds at most.
//
// Nor is there a way to end a request early. A body that is closed, or whose context
// ends, is dropped as it comes; the deadline of a context is told to the executor.
//
// # Lost connections
//
// A request that was not answered is made again if its method is safe: GET, HEAD,
// OPTIONS or TRACE. Otherwise the error is [ErrOutcomeUnknown]. A body that is being
// read ends with an error that wraps io.ErrUnexpectedEOF.
type HTTP struct{ executor *executor }

// HTTP implements [Executor].
func (e *executor) HTTP() *HTTP { return &HTTP{e} }

// Do makes a request and returns the answer with its body. The members about
// streaming are filled in. Any status is an answer. The error is a
// *[protocol.Error] if the executor tells it, and [ErrTooLarge] if the body has more
// than 64 MiB.
func (h *HTTP) Do(ctx context.Context, params protocol.HTTPRequestParams) (*protocol.HTTPRequestResult, error) {
	result, body, err := h.Stream(ctx, params)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	result.BodyBase64, err = io.ReadAll(io.LimitReader(body, limits.HTTPWholeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(result.BodyBase64) > limits.HTTPWholeBytes {
		return nil, ErrTooLarge
	}
	return result, nil
}

// Stream makes a request and returns the answer with what reads its body, which must
// be closed. The context bounds that, too. Otherwise it is as [HTTP.Do].
func (h *HTTP) Stream(ctx context.Context, params protocol.HTTPRequestParams) (*protocol.HTTPRequestResult, io.ReadCloser, error) {
	var l *link
	var broken strikes
	for {
		var err error
		if l, err = h.executor.connected(ctx, l); err != nil {
			return nil, nil, fmt.Errorf("calling %s: %w", protocol.MethodHTTPRequest, err)
		}
		body := h.executor.newStream(ctx, l) // some of it may come right behind the answer
		params.RequestID, params.StreamResponse = body.id, true
		result, lost, err := ask[protocol.HTTPRequestResult](ctx, l, protocol.MethodHTTPRequest, &params)
		if err == nil {
			return result, body, nil
		}
		_ = body.Close()
		switch {
		case !lost || broken.out(err):
			return nil, nil, err
		case !isSafe(params.Method):
			return nil, nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
	}
}

// isSafe tells whether a request with a method may be made twice.
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	default:
		return false
	}
}
