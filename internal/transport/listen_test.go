package transport

import (
	"fmt"
	"testing"
)

func TestParseListen(t *testing.T) {
	for _, tt := range []struct {
		url             string
		stdio, loopback bool
	}{
		{"stdio", true, true},
		{"stdio://", true, true},
		{"ws://127.0.0.1:0", false, true},
		{"ws://127.8.9.10:65535", false, true},
		{"ws://[::1]:4242", false, true},
		{"ws://[::ffff:127.0.0.1]:1", false, true},
		{"ws://0.0.0.0:0", false, false},
		{"ws://[::]:0", false, false},
		{"ws://192.0.2.1:80", false, false},
	} {
		a, err := ParseListen(tt.url)
		if err != nil || a.IsStdio() != tt.stdio || a.IsLoopback() != tt.loopback {
			t.Errorf("%s: stdio %v, loopback %v, error %v", tt.url, a.IsStdio(), a.IsLoopback(), err)
		}
	}
}

func TestParseListenErrors(t *testing.T) {
	const unsupported = "unsupported --listen URL `%s`; expected `ws://IP:PORT` or `stdio`"
	const invalid = "invalid websocket --listen URL `%s`; expected `ws://IP:PORT`"
	for url, want := range map[string]string{
		"":                      unsupported,
		"off":                   unsupported,
		"wss://127.0.0.1:0":     unsupported,
		"http://127.0.0.1:0":    unsupported,
		"unix:///run/x":         unsupported,
		"WS://127.0.0.1:0":      unsupported,
		"stdio:":                unsupported,
		"STDIO":                 unsupported,
		"127.0.0.1:0":           unsupported,
		"ws://":                 invalid,
		"ws://localhost:0":      invalid,
		"ws://127.0.0.1":        invalid,
		"ws://127.0.0.1:":       invalid,
		"ws://127.0.0.1:0/":     invalid,
		"ws://127.0.0.1:0/path": invalid,
		"ws://127.0.0.1:65536":  invalid,
		"ws://127.0.0.1:-1":     invalid,
		"ws://::1:80":           invalid,
		"ws://[::1]":            invalid,
		"ws://:80":              invalid,
		"ws://u@127.0.0.1:0":    invalid,
	} {
		if _, err := ParseListen(url); err == nil || err.Error() != fmt.Sprintf(want, url) {
			t.Errorf("%q: error %v", url, err)
		}
	}
}
