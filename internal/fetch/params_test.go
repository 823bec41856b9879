package fetch

import (
	"bytes"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func TestInvalid(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/"
	of := func(method, url string, pairs ...string) *protocol.HTTPRequestParams {
		return with(&protocol.HTTPRequestParams{Method: method, URL: url}, pairs...)
	}
	for _, test := range []struct {
		name   string
		params *protocol.HTTPRequestParams
		want   string
	}{
		{"empty method", of("", ""), "http/request method is invalid: invalid HTTP method"},
		{"method", of("g t", url), "http/request method is invalid: invalid HTTP method"},
		{"method with a break", of("GET\n", url), "http/request method is invalid: invalid HTTP method"},
		{"empty URL", of("GET", ""), "http/request url is invalid: relative URL without a base"},
		{"relative URL", of("GET", "nope"), "http/request url is invalid: relative URL without a base"},
		{"no host", of("GET", "http://"), "http/request url is invalid: empty host"},
		{"port", of("GET", "http://h:99999"), "http/request url is invalid: invalid port number"},
		{"long URL", of("GET", url+strings.Repeat("a", limits.HTTPURLBytes)), "http/request url is invalid: it has 65553 bytes, and may have 65534"},
		{"URL before header", of("GET", "", "", ""), "http/request url is invalid: relative URL without a base"},
		{"scheme", of("GET", "ftp://x/", "", ""), "http/request only supports http and https URLs, got ftp"},
		{"empty header name", of("GET", url, "", ""), "http/request header name is invalid: invalid HTTP header name"},
		{"header name", of("GET", url, "a b", ""), "http/request header name is invalid: invalid HTTP header name"},
		{"pseudo header", of("GET", url, ":path", ""), "http/request header name is invalid: invalid HTTP header name"},
		{"header value", of("GET", url, "X", "a\nb"), "http/request header value is invalid for X: failed to parse header value"},
		{"NUL", of("GET", url, "X", "\x00"), "http/request header value is invalid for X: failed to parse header value"},
		{"value before the next name", of("GET", url, "x", "\n", "", ""), "http/request header value is invalid for x: failed to parse header value"},
		{"content-length", of("GET", url, "Content-Length", "3"), "http/request header content-length is not the length of the body, which has 0 bytes; leave it out"},
		{"content-length as text", of("GET", url, "Content-Length", "x"), "http/request header content-length is not the length of the body, which has 0 bytes; leave it out"},
		{"transfer-encoding", of("GET", url, "transfer-encoding", "gzip"), "http/request header transfer-encoding can only be chunked; leave it out"},
		{"large headers", of("GET", url, "x", strings.Repeat("a", limits.HTTPRequestHeaderBytes)), "http/request headers are too large: they may have 1048576 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, Config{})
			test.params.StreamResponse = true
			for range 2 { // the second time the id is free again
				_, err := c.do(test.params)
				wantError(t, err, protocol.CodeInvalidParams, test.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	env := environment{"TOKEN": "s3cret", "EMPTY": "", "BREAK": "s3cret\n", "OPENAI_API_KEY": "s3cret", "LONG": strings.Repeat("s", 100_000), "": "x", "A=B": "x"}
	c := newClient(t, Config{LookupEnv: env.lookup})
	seen := make(chan string, 1)
	origin := serve(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") })
	of := func(variable string) *protocol.HTTPRequestParams {
		p := get(origin.URL)
		p.Headers = []protocol.HTTPHeaderParam{{Name: "Authorization", Value: "Bearer ", ValueEnvVar: &variable}}
		return p
	}
	c.must(of("TOKEN"))
	if got := <-seen; got != "Bearer s3cret" {
		t.Errorf("the origin got %q", got)
	}
	for variable, want := range map[string]string{
		"openai_api_key": "http/request header Authorization cannot use executor environment variable openai_api_key",
		"OPENAI_API_KEY": "http/request header Authorization cannot use executor environment variable OPENAI_API_KEY",
		"NOPE":           "http/request header Authorization requires executor environment variable NOPE",
		"":               "http/request header Authorization requires executor environment variable ",
		"A=B":            "http/request header Authorization requires executor environment variable A=B",
		"EMPTY":          "http/request header Authorization requires a non-empty executor environment variable EMPTY",
		"BREAK":          "http/request header value is invalid for Authorization: failed to parse header value",
	} {
		_, err := c.do(of(variable))
		wantError(t, err, protocol.CodeInvalidParams, want)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	p := get(origin.URL)
	variable := "LONG"
	for i := range 11 {
		p.Headers = append(p.Headers, protocol.HTTPHeaderParam{Name: "x" + strconv.Itoa(i), ValueEnvVar: &variable})
	}
	_, err := c.do(p)
	wantError(t, err, protocol.CodeInvalidParams, "http/request headers are too large")
}

func TestOwnVariables(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{LookupEnv: func(string) (string, bool) { return "x", true }})
	for _, name := range ownVariables {
		p := get("http://127.0.0.1:1")
		p.Headers = []protocol.HTTPHeaderParam{{Name: "X", ValueEnvVar: &name}}
		_, err := c.do(p)
		wantError(t, err, protocol.CodeInvalidParams, "http/request header X cannot use executor environment variable "+name)
	}
}

// TestLog asserts what a log tells of a request that fails: where, and why.
func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	origin := serveRaw(t, map[string]string{"/s3cret": "s3cret", "/cut": plain("s3cret", "content-length: 100")})
	c := newClient(t, Config{Logger: logger, LookupEnv: environment{"TOKEN": "s3cret"}.lookup, Deny: []string{"denied.invalid"}})
	host := strings.TrimPrefix(origin.URL, "http://")
	for _, url := range []string{"http://u:s3cret@" + host + "/s3cret?s3cret#s3cret", origin.URL + "/cut?s3cret", "http://denied.invalid/s3cret"} {
		p := with(get(url), "X", "s3cret")
		body, variable := protocol.Bytes("s3cret"), "TOKEN"
		p.BodyBase64 = &body
		p.Headers = append(p.Headers, protocol.HTTPHeaderParam{Name: "Y", ValueEnvVar: &variable})
		if _, err := c.do(p); err == nil {
			t.Errorf("%s succeeded", url)
		}
	}
	got := log.String()
	for _, want := range []string{"host=" + host + ` cause="net/http: HTTP/1.x transport connection broken: malformed HTTP`, `cause="it ends early"`, "host=denied.invalid"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("the log has a secret:\n%s", got)
	}
}
