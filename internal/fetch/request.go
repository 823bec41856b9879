package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"

	"github.com/airlock-exec/airlock/internal/fetch/weburl"
)

// request is what is sent to one origin.
type request struct {
	method  string
	url     *weburl.URL
	host    string      // instead of that of the URL, if not empty
	header  http.Header // with names in lower case, as they are sent
	secrets []string    // names of headers with something of the environment
	body    []byte
	chunked bool // the body is sent in chunks
	follow  bool // redirects
}

// addDefaults adds the headers that the caller has not given.
func (r *request) addDefaults() {
	// net/http names itself, unless it is told not to, in its own spelling.
	r.header["User-Agent"] = nil
	r.addDefault("accept", "*/*")
	r.addDefault("accept-encoding", "zstd,gzip")
	if user := r.url.User; user != nil {
		pair := base64.StdEncoding.EncodeToString([]byte(user.Name + ":" + user.Password))
		r.addDefault("authorization", "Basic "+pair)
	}
}

func (r *request) addDefault(name, value string) {
	if _, given := r.header[name]; !given {
		r.header[name] = []string{value}
	}
}

// build makes what net/http sends.
func (r *request) build(ctx context.Context, proxied bool) *http.Request {
	built := (&http.Request{
		Method: r.method,
		URL:    r.target(proxied),
		Host:   r.host,
		Header: r.header,
	}).WithContext(ctx)
	if len(r.body) == 0 {
		return built
	}
	built.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body)), nil }
	built.Body, _ = built.GetBody()
	built.ContentLength = int64(len(r.body))
	if r.chunked {
		built.ContentLength = -1
	}
	return built
}

// target returns the URL in the form of net/url, so that it is sent as it is.
func (r *request) target(proxied bool) *url.URL {
	u := &url.URL{Scheme: r.url.Scheme, Host: r.url.Authority()}
	if r.method == http.MethodConnect {
		return u
	}
	if r.url.Query != "" {
		u.RawQuery = r.url.Query[1:]
		u.ForceQuery = true
	}
	path, err := url.PathUnescape(r.url.Path)
	if err == nil {
		u.Path, u.RawPath = path, r.url.Path
		if u.EscapedPath() == r.url.Path {
			return u
		}
	}
	// net/url would spell it otherwise.
	u.Path, u.RawPath, u.Opaque = "", "", r.url.Path
	if proxied || len(u.Opaque) > 1 && u.Opaque[1] == '/' {
		u.Opaque = "//" + u.Host + r.url.Path
	}
	return u
}
