package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"

	"github.com/airlock-exec/airlock/test/conformance"
)

// fake runs a server that answers as a test has it: reply gets each message, and
// returns what is sent for it. It does not know what it says.
func fake(t *testing.T, reply func(message string) []string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			_, message, err := c.Read(r.Context())
			if err != nil {
				return
			}
			for _, text := range reply(string(message)) {
				if text == hangUp {
					return
				}
				if err := c.Write(r.Context(), websocket.MessageText, []byte(text)); err != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// hangUp, among the replies of a fake server, ends the connection.
const hangUp = "hang up"

// info is what a fake server says of itself.
const info = `{"executorVersion":"0.0.1","platformOs":"linux","airlock":{}}`

// honest answers as a server should whose every request is number 1 or 2.
func honest(message string) []string {
	id, _, _ := strings.Cut(strings.SplitAfter(message, `"id":`)[1], ",")
	switch {
	case strings.Contains(message, `"initialize"`):
		return []string{`{"id":` + id + `,"result":{"sessionId":"s","environmentInfo":` + info + `}}`}
	case strings.Contains(message, `"environment/status"`):
		return []string{`{"id":` + id + `,"result":{"status":"ready"}}`}
	case strings.Contains(message, `"process/start"`):
		return []string{
			`{"id":` + id + `,"result":{"processId":"p","sandboxType":"none"}}`,
			`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"aGkK"}}`,
			`{"method":"process/exited","params":{"processId":"p","seq":2,"exitCode":0,"sandboxDenied":false}}`,
			`{"method":"process/closed","params":{"processId":"p","seq":3}}`,
		}
	}
	return []string{`{"id":` + id + `,"error":{"code":-32601,"message":"no"}}`}
}

// replacing answers honestly, but with other words.
func replacing(pairs ...string) func(string) []string {
	replacer := strings.NewReplacer(pairs...)
	return func(message string) []string {
		if strings.Contains(message, `"initialized"`) {
			return nil
		}
		var replies []string
		for _, text := range honest(message) {
			if text = replacer.Replace(text); text != "" {
				replies = append(replies, strings.Split(text, "\n")...)
			}
		}
		return replies
	}
}

// files makes a suite of one file.
func files(t *testing.T, text string) *conformance.Suite {
	t.Helper()
	s, err := conformance.LoadFS(fstest.MapFS{"cases/t.json": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one runs a suite of one case, whose steps are given, and returns what became
// of it.
func one(t *testing.T, url, steps string, options conformance.Options) conformance.Result {
	t.Helper()
	s := files(t, `{"about":"a test","cases":[{"name":"c","spec":"01 §8","steps":[`+steps+`]}]}`)
	var got conformance.Result
	options.URL = url
	if options.StepLimit == 0 {
		options.StepLimit = 10 * time.Second
	}
	options.Done = func(r conformance.Result) { got = r }
	if _, err := s.Run(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	return got
}

// ready is the answer of an honest server to what [status] asks.
const ready = `{"id":2,"result":{"status":"ready"}}`

const (
	status  = `{"call":"environment/status","expect":{"result":{"status":"ready"}}}`
	process = `{"start":"p","script":"echo hi"},{"outcome":"p","expect":{"stdout":"hi\n","exitCode":0}}`
)

// TestRunnerFails: a server that does not do what is expected does not pass, and
// the report says where and why.
func TestRunnerFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		steps   string
		replies []string // pairs that are replaced in honest answers
		want    string   // in the report; empty: it passes
		limit   time.Duration
	}{
		{name: "an honest server", steps: status},
		{name: "an honest process", steps: process},
		{
			name: "another value", steps: status, replies: []string{`"ready"`, `"steady"`},
			want: `at       .result.status: expected "ready", came "steady"`,
		},
		{
			name: "a member too many", steps: status, replies: []string{`"status":"ready"`, `"status":"ready","more":1`},
			want: `at       .result.more: expected no such member, came 1`,
		},
		{
			name: "a member too many outside", steps: status, replies: []string{`{"status":"ready"}`, `{"status":"ready"},"jsonrpc":"2.0"`},
			want: `at       .jsonrpc: expected no such member, came "2.0"`,
		},
		{
			name: "a member too few", steps: status, replies: []string{`"status":"ready"`, ``},
			want: `at       .result.status: expected it to be there, came no such member`,
		},
		{
			name: "an error", steps: status, replies: []string{`"result":{"status":"ready"}`, `"error":{"code":1,"message":"x"}`},
			want: `came     {"error":{"code":1,"message":"x"}}`,
		},
		{
			name: "no JSON", steps: status, replies: []string{ready, "{oops\n" + ready},
			want: `a message that is no JSON object: {oops`,
		},
		{
			name: "a duplicate member", steps: status, replies: []string{ready, `{"a":1,"a":2}` + "\n" + ready},
			want: `a message that is no JSON object`,
		},
		{
			name: "a second answer", steps: status, replies: []string{ready, `{"id":7,"result":null}` + "\n" + ready},
			want: `an answer that nobody waits for: {"id":7,"result":null}`,
		},
		{
			name: "a request", steps: status, replies: []string{ready, `{"id":7,"method":"x"}` + "\n" + ready},
			want: `a request: {"id":7,"method":"x"}`,
		},
		{
			name: "an unknown notification", steps: status, replies: []string{ready, `{"method":"x","params":{}}` + "\n" + ready},
			want: `a notification x, which there is not`,
		},
		{
			name: "no answer", steps: status, replies: []string{ready, ``}, limit: 300 * time.Millisecond,
			want: `waiting for the answer to environment/status: the step's time is over`,
		},
		{
			name: "the connection ends", steps: status, replies: []string{ready, hangUp},
			want: `waiting for the answer to environment/status: the connection has ended`,
		},
		{
			name: "other output", steps: process, replies: []string{`aGkK`, `aG8K`},
			want: `at       .stdout: expected "hi\n", came "ho\n"`,
		},
		{
			name: "output on another stream", steps: process, replies: []string{`"stdout"`, `"stderr"`},
			want: `expected nothing on stderr`,
		},
		{
			name: "another exit code", steps: process, replies: []string{`"exitCode":0`, `"exitCode":1`},
			want: `at       .exitCode: expected 0, came 1`,
		},
		{
			name: "denied", steps: process, replies: []string{`"sandboxDenied":false`, `"sandboxDenied":true`},
			want: `at       .sandboxDenied: expected false, came true`,
		},
		{
			name: "a number twice", steps: process, replies: []string{`"seq":1`, `"seq":2`}, limit: 300 * time.Millisecond,
			want: `waiting for the end of p: the step's time is over`,
		},
		{
			name: "an event after closed", steps: process + `,{"pause":100},{"outcome":"p","expect":{"stdout":"hi\n"}}`,
			replies: []string{`{"processId":"p","seq":3}}`, `{"processId":"p","seq":3}}` + "\n" + `{"method":"process/output","params":{"processId":"p","seq":4,"stream":"stdout","chunk":"aGkK"}}`},
			want:    `.numbered: expected true, came false`,
		},
		{
			name: "bad base64", steps: process, replies: []string{`aGkK`, `aGk`}, limit: 300 * time.Millisecond,
			want: `a malformed process/output: .chunk: expected padded base64`,
		},
		{
			name: "an empty chunk", steps: process, replies: []string{`aGkK`, ``}, limit: 300 * time.Millisecond,
			want: `a malformed process/output`,
		},
		{
			name: "a member too many in a notification", steps: process, replies: []string{`"exitCode":0`, `"exitCode":0,"x":1`}, limit: 300 * time.Millisecond,
			want: `a malformed process/exited: .x: expected no such member`,
		},
		{
			name: "later than it may be", steps: `{"call":"environment/status","took":[5000,6000],"expect":{"result":{"status":"ready"}}}`,
			want: `expected an answer after 5000 to 6000 ms`,
		},
		{
			name: "not quiet", steps: `{"send":"{\"id\":2,\"method\":\"environment/status\"}"},{"quiet":5000}`,
			want: `expected nothing for 5000 ms`,
		},
		{name: "it does not end", steps: `{"ended":"main"}`, limit: 200 * time.Millisecond, want: `waiting for the end of the connection: the step's time is over`},
		{
			name: "another status", steps: `{"http":{"target":"/x"},"expect":{"status":404,"headers":{"$open":{}},"body":""}}`,
			want: `at       .status: expected 404, came 418`,
		},
		{
			name: "a failed start is no setup", steps: `{"start":"p","argv":["x"]},` + status,
			replies: []string{`"result":{"processId":"p","sandboxType":"none"}`, `"error":{"code":5,"message":"no"}`},
			want:    `process/start was answered {"error":{"code":5,"message":"no"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := one(t, fake(t, replacing(test.replies...)), test.steps, conformance.Options{StepLimit: test.limit})
			var text strings.Builder
			_ = result.WriteText(&text)
			if test.want == "" && (result.Status != conformance.Passed || result.Failed != 0 || result.NotMade != 0 || result.Passed == 0) {
				t.Errorf("an honest server failed: %s", text.String())
			}
			if test.want != "" && (result.Status != conformance.Failed || result.Failed == 0 || !strings.Contains(unpadded(text.String()), unpadded(test.want))) {
				t.Errorf("expected a failure with %q; the report:\n%s", test.want, text.String())
			}
			if test.want != "" && !strings.Contains(text.String(), "01 §8") {
				t.Errorf("the line of the specification is missing:\n%s", text.String())
			}
		})
	}
}

// unpadded makes runs of blanks one.
func unpadded(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestRunnerWithoutServer: that there is nothing to test is no success.
func TestRunnerWithoutServer(t *testing.T) {
	t.Parallel()
	s := files(t, `{"about":"a test","cases":[{"name":"c","spec":"01 §8","steps":[`+status+`]}]}`)
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	for _, test := range []struct {
		name, url, want string
	}{
		{"a URL that is none", "http://127.0.0.1:1", "expected ws://HOST:PORT"},
		{"a URL with a path", "ws://127.0.0.1:1/x", "expected ws://HOST:PORT"},
		{"no URL", "", "expected ws://HOST:PORT"},
		{"nobody there", "ws://127.0.0.1:1", "connection refused"},
		{"no WebSocket", "ws" + strings.TrimPrefix(refusing.URL, "http"), "did not open a WebSocket: 404"},
		{"no exec-server", fake(t, replacing(`"environmentInfo"`, `"x"`)), "initialize was answered"},
		{"Windows", fake(t, replacing(`"linux"`, `"windows"`)), "runs on Windows"},
	} {
		if _, err := s.Run(t.Context(), conformance.Options{URL: test.url}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, conformance.Options{URL: fake(t, replacing())}); err == nil {
		t.Error("a run that was interrupted has ended well")
	}
}
