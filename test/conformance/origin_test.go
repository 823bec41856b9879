package conformance

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answering runs an origin with answers as a file of cases has them.
func answering(t *testing.T, answers string) *origin {
	t.Helper()
	o, err := newOrigin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	parsed, err := parseOrigin(tree(t, answers))
	if err != nil {
		t.Fatal(err)
	}
	o.serve(parsed)
	return o
}

// exchange sends text to an origin and returns all that comes until it closes.
func exchange(t *testing.T, o *origin, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", o.host(0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestOriginAnswers: what a case has written is what goes over the wire.
func TestOriginAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ answer, want string }{
		{`{"close":true}`, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"},
		{`{"status":404,"headers":[["B","1"],["a","2"],["B","3"]],"body":["ab","c"],"close":true}`, "HTTP/1.1 404 Not Found\r\nB: 1\r\na: 2\r\nB: 3\r\ncontent-length: 3\r\n\r\nabc"},
		{`{"length":null,"body":"x","close":true}`, "HTTP/1.1 200 OK\r\n\r\nx"},
		{`{"length":9,"body":"x","close":true}`, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"},
		{`{"chunked":true,"body":["ab","c"],"close":true}`, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"},
		{`{"raw":["junk"," and more"],"close":true}`, "junk and more"},
	} {
		o := answering(t, `{"/x":`+test.answer+`}`)
		if got := exchange(t, o, "GET /x HTTP/1.1\r\nhost: h\r\n\r\n"); got != test.want {
			t.Errorf("%s\n  came %q\n  want %q", test.answer, got, test.want)
		}
	}
}

// TestOriginKeeps: what came is told as it came, one after the other.
func TestOriginKeeps(t *testing.T) {
	t.Parallel()
	o := answering(t, `{"/x":{"close":true}}`)
	exchange(t, o, "PUT /x HTTP/1.1\r\nB: 1\r\nA:  2\t\r\nContent-Length: 2\r\n\r\nhi")
	exchange(t, o, "POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nA\r\n0123456789\r\n0\r\n\r\n")
	for _, want := range []string{
		`{"at":"http://` + o.host(0) + `","body":"hi","headers":[["B","1"],["A","2"],["Content-Length","2"]],"method":"PUT","target":"/x"}`,
		`{"at":"http://` + o.host(0) + `","body":"hi0123456789","headers":[["transfer-encoding","chunked"]],"method":"POST","target":"/x"}`,
	} {
		got, err := o.request(t.Context(), "/x")
		if err != nil || encode(got) != want {
			t.Errorf("%s, error %v", encode(got), err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := o.request(ended, "/x"); err == nil {
		t.Errorf("a request that did not come: %s", encode(got))
	}
}

// TestOriginGates: an answer waits until it is let go on, and notices when nobody
// waits for it any more.
func TestOriginGates(t *testing.T) {
	t.Parallel()
	o := answering(t, `{"/go":{"hold":"a","body":["x",{"wait":"b"},"y"],"close":true},"/stay":{"body":["x",{"wait":"never"}]}}`)
	close(o.gate("a"))
	response, err := http.Get("http://" + o.host(1) + "/go")
	if err != nil {
		t.Fatal(err)
	}
	close(o.gate("b"))
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "xy" {
		t.Errorf("%q, error %v", body, err)
	}
	_ = response.Body.Close()

	response, err = http.Get("http://" + o.host(1) + "/stay")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close() // before its end
	r := &run{origin: o, vars: variables{}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.left(ctx, &step{fields: map[string]any{"left": "/stay"}}); err != nil {
		t.Error(err)
	}
}

// TestBadRequests: an origin answers nothing that is no request.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\r\n", "GET /\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
		"GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
		"GET / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length: 5\r\n\r\nx",
		"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", "GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n7fffffff\r\nx",
		"GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", maxOriginHead+1) + "\r\n",
		"GET /" + strings.Repeat("a", 9000) + " HTTP/1.1\r\n\r\n",
	} {
		if _, got, err := readRequest(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%.60q was read as %s", text, encode(got))
		}
	}
}

// FuzzRequest: whatever an executor sends is a request or an error.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nhi"))
	f.Add([]byte("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		target, got, err := readRequest(bufio.NewReader(strings.NewReader(string(text))))
		if err != nil {
			return
		}
		if body, _ := got["body"].(string); len(body) > len(text) || got["target"] != target {
			t.Errorf("%q was read as %s", text, encode(got))
		}
	})
}

// TestFileURI: a path and its URI are the same for every byte.
func TestFileURI(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/":               "file:///",
		"/tmp/a b":        "file:///tmp/a%20b",
		"/é%#?":           "file:///%C3%A9%25%23%3F",
		"/\xff\\`{}\"<>":  "file:///%FF%5C%60%7B%7D%22%3C%3E",
		"/!$&'()*+,-.:;=": "file:///!$&'()*+,-.:;=",
		"/@[]^_|~":        "file:///@[]^_|~",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%q: %s, expected %s", path, got, want)
		}
	}
}

// TestJoinDeltas: a stream whose parts are not as they should be is none.
func TestJoinDeltas(t *testing.T) {
	t.Parallel()
	const (
		first = `{"requestId":"s","seq":1,"deltaBase64":"aGk=","done":false,"error":null}`
		last  = `{"requestId":"s","seq":2,"deltaBase64":"","done":true,"error":null}`
	)
	for _, test := range []struct{ first, last, want string }{
		{first, last, `{"deltas":1,"error":null,"largest":2,"text":"hi"}`},
		{first, strings.Replace(last, "null", `"x"`, 1), `{"deltas":1,"error":"x","largest":2,"text":"hi"}`},
		{strings.Replace(first, "1", "2", 1), last, ""},
		{first, strings.Replace(last, "2", "3", 1), ""},
		{strings.Replace(first, "aGk=", "", 1), last, ""},
		{first, strings.Replace(last, `""`, `"aGk="`, 1), ""},
		{strings.Replace(first, "null", `"x"`, 1), last, ""},
	} {
		var deltas []map[string]any
		for _, text := range []string{test.first, test.last} {
			deltas = append(deltas, tree(t, text).(map[string]any))
		}
		got, fault := joinDeltas(deltas)
		if test.want == "" && fault == "" || test.want != "" && encode(got) != test.want {
			t.Errorf("%s %s\n  came %s, fault %q", test.first, test.last, encode(got), fault)
		}
	}
}
