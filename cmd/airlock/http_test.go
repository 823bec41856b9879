package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

func TestHTTPParams(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("a\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		want protocol.HTTPRequestParams
	}{
		{"plain", []string{"http://x"}, protocol.HTTPRequestParams{Method: "GET", URL: "http://x", RedirectPolicy: "follow"}},
		{"method", []string{"PUT", "http://x", "--no-redirect"}, protocol.HTTPRequestParams{Method: "PUT", URL: "http://x", RedirectPolicy: "stop"}},
		{"data", []string{"http://x", "-d", "x"}, protocol.HTTPRequestParams{
			Method: "POST", URL: "http://x", RedirectPolicy: "follow", BodyBase64: new(protocol.Bytes("x")),
		}},
		{"empty data", []string{"http://x", "-d", ""}, protocol.HTTPRequestParams{
			Method: "POST", URL: "http://x", RedirectPolicy: "follow", BodyBase64: new(protocol.Bytes("")),
		}},
		{"file", []string{"GET", "http://x", "--data", "@" + file}, protocol.HTTPRequestParams{
			Method: "GET", URL: "http://x", RedirectPolicy: "follow", BodyBase64: new(protocol.Bytes("a\nb")),
		}},
		{"stdin", []string{"http://x", "--data", "@-"}, protocol.HTTPRequestParams{
			Method: "POST", URL: "http://x", RedirectPolicy: "follow", BodyBase64: new(protocol.Bytes("typed")),
		}},
		{"timeout", []string{"http://x", "--timeout", "1.5s"}, protocol.HTTPRequestParams{
			Method: "GET", URL: "http://x", RedirectPolicy: "follow", TimeoutMs: new(uint64(1500)),
		}},
		{"short timeout", []string{"http://x", "--timeout", "1ns"}, protocol.HTTPRequestParams{
			Method: "GET", URL: "http://x", RedirectPolicy: "follow", TimeoutMs: new(uint64(1)),
		}},
		{"headers", []string{"http://x", "-H", "A: b, c:d", "-H", "E:", "--env-header", "F: G $H", "--env-header", "I:${J}"}, protocol.HTTPRequestParams{
			Method: "GET", URL: "http://x", RedirectPolicy: "follow", Headers: []protocol.HTTPHeaderParam{
				{Name: "A", Value: "b, c:d"}, {Name: "E"}, {Name: "F", Value: "G ", ValueEnvVar: new("H")}, {Name: "I", ValueEnvVar: new("J")},
			},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cli, _, err := parse(t, append([]string{"http"}, test.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cli.HTTP.params(strings.NewReader("typed"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("the request differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHTTPParamsWrong asserts that what is wrong is told without secrets.
func TestHTTPParamsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"a", "b", "c"}, "expected a URL, or a method and a URL"},
		{[]string{"x", "-H", "secret"}, "--header: expected NAME: VALUE"},
		{[]string{"x", "-H", ": secret"}, "--header: expected NAME: VALUE"},
		{[]string{"x", "--env-header", "A: secret"}, "--env-header: expected NAME: VALUE with a $VARIABLE"},
		{[]string{"x", "--env-header", "A: $secret more"}, "--env-header: the value must end with the variable"},
		{[]string{"x", "--env-header", "A: $"}, "--env-header: the value must end with the variable"},
		{[]string{"x", "-d", "@nowhere"}, "--data: open nowhere: "},
		{[]string{"x", "-d", "@-"}, "--data: the body has more than 11MiB"},
	} {
		cli, _, err := parse(t, append([]string{"http"}, test.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cli.HTTP.params(&endless{deadline: time.Now().Add(time.Minute)})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// endless is a reader that does not end, but for a test that would not.
type endless struct{ deadline time.Time }

func (e *endless) Read(data []byte) (int, error) {
	if time.Now().After(e.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(data), nil
}
