package fetch

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// TestSent pins what an origin gets, to the byte.
func TestSent(t *testing.T) {
	t.Parallel()
	const defaults = "accept: */*\naccept-encoding: zstd,gzip\n"
	body, empty := protocol.Bytes("abc"), protocol.Bytes{}
	of := func(method string, body *protocol.Bytes, pairs ...string) *protocol.HTTPRequestParams {
		return with(&protocol.HTTPRequestParams{Method: method, URL: "/", BodyBase64: body}, pairs...)
	}
	for _, test := range []struct {
		name   string
		params *protocol.HTTPRequestParams
		want   string
	}{
		{"defaults", of("GET", nil), "GET / HTTP/1.1\nHost: ORIGIN\n" + defaults + "\n"},
		{"method as given", of("get", nil), "get / HTTP/1.1\nHost: ORIGIN\n" + defaults + "\n"},
		{
			"names in lower case, repeats in order, values as given",
			of("GET", nil, "X-Q", "2", "x-q", "1", "User-Agent", "ua", "Cookie", "a", "Cookie", "b", "X-U", "é\t."),
			"GET / HTTP/1.1\nHost: ORIGIN\n" + defaults + "cookie: a\ncookie: b\nuser-agent: ua\nx-q: 2\nx-q: 1\nx-u: é\t.\n\n",
		},
		{
			"given instead of defaults",
			of("GET", nil, "Accept", "text/x", "Accept-Encoding", "", "Host", "other", "Connection", "close"),
			"GET / HTTP/1.1\nHost: other\naccept: text/x\naccept-encoding: \nconnection: close\n\n",
		},
		{"body", of("POST", &body), "POST / HTTP/1.1\nHost: ORIGIN\nContent-Length: 3\n" + defaults + "\nabc"},
		{"body of a GET", of("GET", &body), "GET / HTTP/1.1\nHost: ORIGIN\nContent-Length: 3\n" + defaults + "\nabc"},
		{"empty body", of("GET", &empty), "GET / HTTP/1.1\nHost: ORIGIN\n" + defaults + "\n"},
		{"content-length", of("PUT", &body, "content-length", "3"), "PUT / HTTP/1.1\nHost: ORIGIN\nContent-Length: 3\n" + defaults + "\nabc"},
		{
			"chunks", of("PUT", &body, "Transfer-Encoding", "Chunked"),
			"PUT / HTTP/1.1\nHost: ORIGIN\nTransfer-Encoding: chunked\n" + defaults + "\n3\nabc\n0\n\n",
		},
		{"chunks of nothing", of("GET", nil, "Transfer-Encoding", "chunked"), "GET / HTTP/1.1\nHost: ORIGIN\n" + defaults + "\n"},
		{"expectations are not waited for", of("PUT", &body, "expect", "100-continue"), "PUT / HTTP/1.1\nHost: ORIGIN\nContent-Length: 3\n" + defaults + "expect: 100-continue\n\nabc"},
		{"no referer of a start", of("GET", nil, "Referer", "x"), "GET / HTTP/1.1\nHost: ORIGIN\n" + defaults + "referer: x\n\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			origin := serveRaw(t, map[string]string{"/": plain("")})
			p := *test.params
			p.URL = origin.URL
			newClient(t, Config{}).must(&p)
			want := strings.ReplaceAll(test.want, "ORIGIN", strings.TrimPrefix(origin.URL, "http://"))
			if got := strings.ReplaceAll(origin.last(), "\r\n", "\n"); got != want {
				t.Errorf("the origin got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestTarget pins what becomes of URLs that net/url would spell otherwise.
func TestTarget(t *testing.T) {
	t.Parallel()
	origin := serveRaw(t, map[string]string{})
	host := strings.TrimPrefix(origin.URL, "http://")
	for suffix, want := range map[string]string{
		"":                         "/",
		"?":                        "/?",
		"?q":                       "/?q",
		"/a b\"<>|^`{}\\x/%zz?q='": "/a%20b%22%3C%3E|^%60%7B%7D/x/%zz?q=%27",
		"/[é]?|^`{}":               "/[%C3%A9]?|^`{}",
		"//dbl//x":                 "//dbl//x",
		"//dbl|x?q":                "http://" + host + "//dbl|x?q", // a form that every origin has to take
		"/%2F/%00/%e9":             "/%2F/%00/%e9",
		"/~!$&()*+,;=:@":           "/~!$&()*+,;=:@",
		"/x#f":                     "/x",
	} {
		c := newClient(t, Config{})
		_, _ = c.do(get(origin.URL + suffix))
		line, _, _ := strings.Cut(origin.last(), "\r\n")
		if line != "GET "+want+" HTTP/1.1" {
			t.Errorf("%s: the origin got %q, want %q", suffix, line, want)
		}
	}
	_, _ = newClient(t, Config{}).do(&protocol.HTTPRequestParams{Method: "CONNECT", URL: origin.URL + "/x?q"})
	if line, _, _ := strings.Cut(origin.last(), "\r\n"); line != "CONNECT "+host+" HTTP/1.1" {
		t.Errorf("the origin got %q", line)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	origin := serveRaw(t, map[string]string{"/": plain("")})
	host := strings.TrimPrefix(origin.URL, "http://")
	for _, test := range []struct {
		user, given, want string
	}{
		{"us%40r:p%3aw@", "", "authorization: Basic dXNAcjpwOnc=\r\n"},
		{"u@", "", "authorization: Basic dTo=\r\n"},
		{"u:p@", "mine", "authorization: mine\r\n"},
	} {
		p := get("http://" + test.user + host)
		if test.given != "" {
			with(p, "Authorization", test.given)
		}
		newClient(t, Config{}).must(p)
		if got := origin.last(); !strings.Contains(got, test.want) || strings.Contains(got, "@") {
			t.Errorf("%s: the origin got\n%s", test.user, got)
		}
	}
}

// TestAnswer pins what becomes of answers of all kinds.
func TestAnswer(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/nothing":  "HTTP/1.1 204 Nothing\r\n\r\n",
		"/switch":   "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello",
		"/odd":      "HTTP/1.1 999 Odd\r\n\r\nok",
		"/old":      "HTTP/1.0 200 OK\r\n\r\nok",
		"/hints":    "HTTP/1.1 103 Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nok",
		"/chunks":   "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\nPragma: no-cache\r\nConnection: close\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
		"/values":   "HTTP/1.1 200 OK\r\nx-u: caf\xe9\r\nx-tab: a\tb\r\nx-e: \r\nSet-Cookie: b\r\nx-between:\r\nSET-COOKIE: a\nX-Fold: a\r\n\t b\r\n\r\nok",
		"/nolength": "HTTP/1.1 302 Found\r\n\r\nok",
	}
	for path, want := range map[string]string{
		"/nothing":  "204 ",
		"/switch":   "101 upgrade=x connection=upgrade ",
		"/odd":      "999 ok",
		"/old":      "200 ok",
		"/hints":    "200 ok",
		"/chunks":   "200 x-a=1 transfer-encoding=chunked trailer=X-T pragma=no-cache connection=close ok",
		"/values":   "200 x-tab=a\tb x-e= set-cookie=b x-between= set-cookie=a x-fold=a b ok",
		"/nolength": "302 ok",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			result := newClient(t, Config{}).must(get(serveRaw(t, answers).URL + path))
			if got := describe(result); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// describe writes an answer in a line.
func describe(result *protocol.HTTPRequestResult) string {
	words := []string{strconv.Itoa(int(result.Status))}
	for _, h := range result.Headers {
		words = append(words, h.Name+"="+h.Value)
	}
	return strings.Join(append(words, string(result.BodyBase64)), " ")
}

func TestNoBody(t *testing.T) {
	t.Parallel()
	origin := serveRaw(t, map[string]string{"/": plain("", "content-encoding: gzip", "content-length: 25")})
	p := stream(origin.URL, "s")
	p.Method = "HEAD"
	c := newClient(t, Config{})
	result := c.must(p)
	if text, err := c.body("s"); text != "" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if slices.ContainsFunc(result.Headers, func(h protocol.HTTPHeader) bool { return strings.HasPrefix(h.Name, "content-") }) {
		t.Errorf("got %+v", result.Headers)
	}
}
