package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/server"
	"github.com/airlock-exec/airlock/test/conformance"
)

// runConformance runs the subcommand and returns its exit status and what it
// printed.
func runConformance(t *testing.T, command conformanceCommand) (status int, stdout, stderr string) {
	t.Helper()
	if command.Jobs == 0 {
		command.Jobs = 2
	}
	var out, err bytes.Buffer
	failure := command.Run(&kong.Context{Kong: &kong.Kong{Stdout: &out, Stderr: &err}})
	status = report(&err, "conformance", failure)
	return status, out.String(), err.String()
}

// executor serves an executor that wants a token, if one is given.
func executor(t *testing.T, tokenFile string) string {
	t.Helper()
	s := server.New(server.Config{})
	t.Cleanup(s.Close)
	config := server.ListenConfig{URL: "ws://127.0.0.1:0"}
	if tokenFile != "" {
		config.Auth = server.AuthConfig{Mode: server.CapabilityToken, TokenFile: tokenFile}
	}
	l, err := s.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- l.Serve() }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.URL()
}

// TestConformance: the status tells how it went, and the output what.
func TestConformance(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(" a-token-for-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, closed := executor(t, ""), executor(t, token)
	for _, test := range []struct {
		name           string
		command        conformanceCommand
		status         int
		stdout, stderr string // parts; an empty one means nothing at all
	}{
		{"all passes", conformanceCommand{URL: url, Only: "106-"}, 0, "ok    106-environment-info/status (1 check)\n", ""},
		{"with a token", conformanceCommand{URL: closed, TokenFile: token, Only: "101-http/tokens"}, 0, "ok    101-http/tokens (7 checks)\n", ""},
		{
			// What the peer does is told, so that it can be seen to fail here.
			"something fails",
			conformanceCommand{URL: url, Peer: true, Only: "106-environment-info/tools-folder"},
			1, "FAIL  106-environment-info/tools-folder", "",
		},
		{"without the token", conformanceCommand{URL: closed, Only: "106-"}, 1, "", "401 Unauthorized: missing websocket bearer token; give the executor's token with --token-file"},
		{"no token file", conformanceCommand{URL: closed, TokenFile: token + "x", Only: "106-"}, 1, "", "airlock: reading the token: open "},
		{"nobody there", conformanceCommand{URL: "ws://127.0.0.1:1", Only: "106-"}, 1, "", "airlock: exec-server 127.0.0.1:1: "},
		{"no URL", conformanceCommand{}, 2, "", "airlock: --url is missing: it says which executor to test, as ws://HOST:PORT\nRun \"airlock conformance --help\""},
		{"a bad URL", conformanceCommand{URL: "http://secret@x"}, 2, "", "--url: that is no URL of an executor: expected ws://HOST:PORT"},
		{"no URL at all", conformanceCommand{URL: "foo"}, 2, "", `--url: "foo" is no URL of an executor: expected ws://HOST:PORT`},
		{"a bad pattern", conformanceCommand{URL: url, Only: "("}, 2, "", "the pattern of cases"},
		{"no such case", conformanceCommand{List: true, Only: "no such"}, 2, "", `no case has a name that matches "no such"`},
		{"a list", conformanceCommand{List: true, Only: "106-environment-info/status"}, 0, "106-environment-info/status (01 §8; 1 check)\n", ""},
		{
			"a list as JSON",
			conformanceCommand{List: true, JSON: true, Only: "tools-folder"},
			0,
			`{"case":"106-environment-info/tools-folder","spec":"01 §8","checks":1,"slow":false,"differs":["tools-folder"]}` + "\n", "",
		},
	} {
		status, stdout, stderr := runConformance(t, test.command)
		if status != test.status || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) ||
			(test.stdout == "") != (stdout == "") || (test.stderr == "") != (stderr == "") {
			t.Errorf("%s: status %d, output %q, errors %q", test.name, status, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "secret") || strings.Contains(stdout+stderr, "a-token") {
			t.Errorf("%s: a secret was printed: %q, %q", test.name, stdout, stderr)
		}
	}
}

// TestConformanceJSON: each line is an object, the last the sum.
func TestConformanceJSON(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := runConformance(t, conformanceCommand{URL: executor(t, ""), JSON: true, Only: "106-"})
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if status != 0 || stderr != "" || len(lines) != 6 {
		t.Fatalf("status %d, output %q, errors %q", status, stdout, stderr)
	}
	passed := 0
	for _, line := range lines[:5] {
		var result conformance.Result
		if err := json.Unmarshal([]byte(line), &result); err != nil || result.Status != conformance.Passed || result.Case == "" {
			t.Errorf("%s: error %v", line, err)
		}
		passed += result.Passed
	}
	var last struct {
		Summary struct {
			PassedCases, Passed int
			Peer                bool
		}
	}
	if err := json.Unmarshal([]byte(lines[5]), &last); err != nil || last.Summary.PassedCases != 5 || last.Summary.Passed != passed || last.Summary.Peer {
		t.Errorf("%s: error %v", lines[5], err)
	}
}
