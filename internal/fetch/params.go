package fetch

import (
	"strings"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// invalid answers what can't be asked for.
func invalid(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeInvalidParams, format, args...)
}

// check makes a request of the parameters. The order of the checks is the
// dialect's.
func (f *Fetcher) check(p *protocol.HTTPRequestParams) (*request, error) {
	if !isToken(p.Method) {
		return nil, invalid("http/request method is invalid: invalid HTTP method")
	}
	target, err := checkURL(p.URL)
	if err != nil {
		return nil, err
	}
	r := &request{method: p.Method, url: target, follow: p.RedirectPolicy != protocol.RedirectStop}
	if p.BodyBase64 != nil {
		r.body = *p.BodyBase64
	}
	if err := f.checkHeaders(r, p.Headers); err != nil {
		return nil, err
	}
	r.addDefaults()
	return r, nil
}

func checkURL(text string) (*weburl.URL, error) {
	if len(text) > limits.HTTPURLBytes {
		return nil, invalid("http/request url is invalid: it has %d bytes, and may have %d", len(text), limits.HTTPURLBytes)
	}
	target, err := weburl.Parse(text)
	if err != nil {
		return nil, invalid("http/request url is invalid: %v", err)
	}
	if !supported(target.Scheme) {
		return nil, invalid("http/request only supports http and https URLs, got %s", target.Scheme)
	}
	return target, nil
}

// supported tells whether a scheme is one that requests can be made with.
func supported(scheme string) bool { return scheme == "http" || scheme == "https" }

// isToken tells whether a text can be a method or the name of a header.
func isToken(text string) bool {
	const others = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return text != ""
}

// isValue tells whether a text can be the value of a header.
func isValue(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
