package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// RoundTrip implements [http.RoundTripper]. The body of the request is read whole,
// and may have 11 MiB. Redirects are left to the [http.Client].
func (h *HTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	params, err := paramsOf(r)
	if err != nil {
		return nil, err
	}
	result, body, err := h.Stream(r.Context(), *params)
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		StatusCode: int(result.Status), Status: fmt.Sprintf("%d %s", result.Status, http.StatusText(int(result.Status))),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, // what it was is not told
		Header: http.Header{}, Body: body, ContentLength: -1, Request: r,
	}
	for _, header := range result.Headers {
		response.Header.Add(header.Name, header.Value)
	}
	if length, err := strconv.ParseInt(response.Header.Get("Content-Length"), 10, 64); err == nil && length >= 0 {
		response.ContentLength = length
	}
	return response, nil
}

// paramsOf returns a request as it travels.
func paramsOf(r *http.Request) (*protocol.HTTPRequestParams, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	if r.URL == nil {
		return nil, errors.New("the request has no URL")
	}
	url := *r.URL
	url.Fragment, url.RawFragment = "", ""
	params := &protocol.HTTPRequestParams{
		Method: r.Method, URL: url.String(), Headers: headersOf(r), BodyBase64: body,
		RedirectPolicy: protocol.RedirectStop,
	}
	if params.Method == "" {
		params.Method = http.MethodGet
	}
	params.TimeoutMs, err = timeoutOf(r.Context())
	return params, err
}

// bodyOf reads and closes the body of a request.
func bodyOf(r *http.Request) (*protocol.Bytes, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, limits.HTTPRequestBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > limits.HTTPRequestBytes:
		return nil, fmt.Errorf("the body of the request has more than %d bytes, which is as many as an executor takes", limits.HTTPRequestBytes)
	case len(data) == 0 && r.ContentLength == 0:
		return nil, nil
	}
	return new(protocol.Bytes(data)), nil
}

// headersOf returns the headers of a request, but for those that are made anew.
func headersOf(r *http.Request) []protocol.HTTPHeaderParam {
	var headers []protocol.HTTPHeaderParam
	if r.Host != "" && r.URL != nil && r.Host != r.URL.Host {
		headers = append(headers, protocol.HTTPHeaderParam{Name: "host", Value: r.Host})
	}
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			headers = append(headers, protocol.HTTPHeaderParam{Name: name, Value: value})
		}
	}
	return headers
}

// timeoutOf returns how long a request may take, in milliseconds; nil if nothing
// bounds it.
func timeoutOf(ctx context.Context) (*uint64, error) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return nil, nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return nil, context.DeadlineExceeded
	}
	return new(uint64(left/time.Millisecond) + 1), nil
}
