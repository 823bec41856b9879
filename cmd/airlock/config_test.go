package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeConfig writes a configuration file and returns its name.
func writeConfig(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "airlock.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// effective returns what --print-config prints, without comments and blank lines.
func effective(t *testing.T, args ...string) string {
	t.Helper()
	_, ctx, err := parse(t, append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := printConfig(&printed, ctx.Flags()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(printed.String()) {
		if !strings.HasPrefix(line, "#") && line != "\n" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

const defaultConfig = `log-level = 'warn'
log-format = 'text'
listen = 'ws://127.0.0.1:0'
control-socket = 'auto'
concurrent-requests = 1
require-auth = false
trees = 'auto'
session-ttl = '1m20s'
process-retention = '1m20s'
stall-timeout = '2s'
stall-drop = '1m'
spill-bytes = '256MiB'
spill-total-bytes = '4GiB'
ping-interval = '30s'
ping-timeout = '1m30s'
max-connections = 8192
max-sessions = 4096
max-processes = 4096
http-max-body = '64MiB'
sandbox-tier = 'auto'
sandbox-outer-proc = false
sandbox-nesting = false
`

const otherConfig = `log-level = 'debug'
log-format = 'json'
listen = 'ws://[::1]:99'
control-socket = 'auto'
concurrent-requests = 7
ws-auth = 'signed-bearer-token'
ws-token-file = 'a "b" \ c'
ws-token-sha256 = 'ff'
ws-shared-secret-file = '/run/secret'
ws-issuer = ''
ws-audience = 'ü'
ws-max-clock-skew-seconds = 0
require-auth = true
trees = 'walk'
session-ttl = '1h'
process-retention = '1ms'
stall-timeout = '300ms'
stall-drop = '5m'
spill-bytes = '0'
spill-total-bytes = '1001KiB'
spill-dir = '/'
ping-interval = '1m'
ping-timeout = '2m0.5s'
max-connections = 1
max-sessions = 2
max-processes = 9223372036854775807
http-deny = ['169.254.0.0/16', '*.internal']
http-max-body = '1'
sandbox-tier = 'landlock'
sandbox-outer-proc = true
sandbox-nesting = true
`

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(defaultConfig, effective(t)); diff != "" {
		t.Errorf("default configuration differs (-want +got):\n%s", diff)
	}
	// Every setting is in the file, and nothing else.
	file := writeConfig(t, otherConfig)
	if diff := cmp.Diff(otherConfig, effective(t, "--config", file)); diff != "" {
		t.Errorf("a configuration differs after it was read and printed (-want +got):\n%s", diff)
	}
}

func TestConfigPrecedence(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, "session-ttl = '10s'\nprocess-retention = '10s'\nrequire-auth = true\nlog-level = 'info'\n")
	// Also a flag whose value is the default wins over the file, wherever it is.
	got := effective(t, "--session-ttl", "80s", "--config", file, "--log-level=warn", "--require-auth=false")
	want := strings.Replace(defaultConfig, "process-retention = '1m20s'", "process-retention = '10s'", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"unknown", "\nlisten = 'stdio'\nlisten-url = 'x'\n", `:3: unknown key "listen-url": remove it, or use one of log-level, log-format, listen, `},
		{"misspelt", "session_ttl = '1s'\n", `:1: unknown key "session_ttl": did you mean "session-ttl"?`},
		{"case", "Listen = 'stdio'\n", `:1: unknown key "Listen": did you mean "listen"?`},
		{"table", "require-auth = true\n\n[serve]\nlisten = 'stdio'\n", `:3: unknown key "serve"`},
		{"dotted", "serve.listen = 'stdio'\n", `:1: unknown key "serve"`},
		{"quoted", "  \"li\" = 'stdio'\n", `:1: unknown key "li"`},
		{"no setting", "config = 'other.toml'\n", `:1: unknown key "config"`},
		{"first of many", "max-sessions = 1\nb = 1\na = 1\n", `:2: unknown key "b"`},
		{"twice", "max-sessions = 1\nmax-sessions = 2\n", `:2: key max-sessions is already defined`},
		{"syntax", "max-sessions = 1\nlisten = stdio\n", `:2: `},
		{"number for string", "listen = 1\n", `:1: listen must be a string in quotes`},
		{"string for number", "max-sessions = '1'\n", `:1: max-sessions must be a whole number, without quotes`},
		{"fraction", "max-sessions = 1.5\n", `:1: max-sessions must be a whole number, without quotes`},
		{"string for bool", "require-auth = 'true'\n", `:1: require-auth must be true or false`},
		{"number for time", "session-ttl = 80\n", `:1: session-ttl must be a string in quotes`},
		{"number for optional string", "ws-issuer = 1\n", `:1: ws-issuer must be a string in quotes`},
		{"zero", "#\nconcurrent-requests = 0\n", `:2: concurrent-requests is "0": number would be zero for non-zero type`},
		{"negative", "ws-max-clock-skew-seconds = -1\n", `:1: ws-max-clock-skew-seconds is "-1": invalid digit found in string`},
		{"time", "session-ttl = 'soon'\n", `:1: session-ttl is "soon": expected a positive time`},
		{"choice", "ws-auth = 'none'\n", `:1: ws-auth is "none", but must be one of ["capability-token" "signed-bearer-token"]`},
		{"string for list", "http-deny = '10.0.0.0/8'\n", `:1: http-deny must be an array of strings in quotes, none of which has a comma`},
		{"number in list", "http-deny = ['a', 1]\n", `:1: http-deny must be an array of strings`},
		{"comma in list", "http-deny = ['a,b']\n", `:1: http-deny must be an array of strings`},
		{"level", "log-level = 'loud'\n", `:1: log-level is "loud", but must be one of ["debug" "info" "warn" "error"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := writeConfig(t, test.content)
			_, _, err := parse(t, "serve", "--config", file)
			if err == nil {
				t.Fatal("no error")
			}
			if got, ok := strings.CutPrefix(err.Error(), file); !ok || !strings.HasPrefix(got, test.want) {
				t.Errorf("error %q, want %q", err, file+test.want)
			}
		})
	}
	_, _, err := parse(t, "serve", "--config", "/nowhere/airlock.toml")
	if err == nil || !strings.Contains(err.Error(), "/nowhere/airlock.toml") {
		t.Errorf("error for a file that is not there: %v", err)
	}
}
