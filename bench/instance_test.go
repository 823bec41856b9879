//go:build unix

package main

import (
	"strings"
	"testing"
)

// shellServer is a target that runs a shell script instead of a server.
func shellServer(script string) *target {
	return &target{name: "fake", argv: []string{"/bin/sh", "-c", script, "fake"}}
}

func TestStart(t *testing.T) {
	srv, err := shellServer(`echo "ws://$2"; exec sleep 60`).start(t.Context(), "--flag")
	if err != nil {
		t.Fatal(err)
	}
	srv.stop()
	if srv.url != "ws://ws://127.0.0.1:0" { // its second argument
		t.Errorf("url %q", srv.url)
	}
	if srv.cmd.ProcessState == nil {
		t.Error("it was not reaped")
	}
}

func TestStartFails(t *testing.T) {
	for script, want := range map[string]string{
		`echo no such port >&2; exit 1`: "no such port",
		`echo hello; exec sleep 60`:     `"hello"`,
	} {
		srv, err := shellServer(script).start(t.Context())
		if err == nil {
			srv.stop()
			t.Errorf("%s: started", script)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error does not say %s: %v", script, want, err)
		}
	}
	missing := &target{name: "fake", argv: []string{"/nonexistent/server"}}
	if _, err := missing.start(t.Context()); err == nil || !strings.Contains(err.Error(), "/nonexistent/server") {
		t.Errorf("missing program: %v", err)
	}
}

func TestTail(t *testing.T) {
	var end tail
	end.Write([]byte(strings.Repeat("a", 3*tailBytes)))
	end.Write([]byte("bc\n"))
	if got := end.String(); len(got) != tailBytes-1 || !strings.HasSuffix(got, "abc") {
		t.Errorf("kept %d bytes", len(got))
	}
}
