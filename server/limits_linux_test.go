package server

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// startLimited starts a command within limits and returns what the answer says of
// their mechanisms.
func (w *wire) startLimited(id, script, limits string) (mechanisms string) {
	w.Helper()
	m := w.call("process/start", startParams(id, script, `,"airlock":{"limits":`+limits+`}`))
	var result struct {
		Airlock struct{ Limits json.RawMessage }
	}
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil {
		w.Fatalf("%s: %s", limits, m.text)
	}
	return string(result.Airlock.Limits)
}

// TestRlimits: they hold for each program, and the client is told by what.
func TestRlimits(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	got := w.startLimited("told", "ulimit -t; ulimit -n; ulimit -f", `{"cpuSeconds":7,"openFiles":50,"fileBytes":5120}`)
	if want := `{"cpuSeconds":"rlimit","openFiles":"rlimit","fileBytes":"rlimit"}`; got != want {
		t.Errorf("mechanisms %s", got)
	}
	if got, code := w.finish("told", 0); got != "7\n50\n10\n" || code != 0 {
		t.Errorf("got %q, exit code %d", got, code)
	}
	w.startLimited("busy", "exec sh -c 'while :; do :; done'", `{"cpuSeconds":1}`)
	if code, reason, _ := w.reasons("busy"); code != 152 || reason != "cpu" {
		t.Errorf("busy: exit code %d, reason %q", code, reason)
	}
	file := t.TempDir() + "/large"
	w.startLimited("large", "exec head -c 100000 /dev/zero >"+file, `{"fileBytes":1000}`)
	if code, reason, _ := w.reasons("large"); code != 153 || reason != "fileSize" {
		t.Errorf("large: exit code %d, reason %q", code, reason)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 1000 {
		t.Errorf("%v, %v", info, err)
	}
	if got := w.startLimited("none", "true", `{}`); got != "" {
		t.Errorf("mechanisms of no limits: %s", got)
	}
}

// TestGroupLimits: they hold for a whole tree. Where there are no control groups
// they are refused.
func TestGroupLimits(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	for _, test := range []struct{ id, script, limits, reason string }{
		// A shell that doubles a string, below another one.
		{"memory", `sh -c 'x=0123456789abcdef; while :; do x=$x$x; done'; exit $?`, `{"memoryBytes":33554432}`, "memory"},
		{"processes", `i=0; while [ $i -lt 20 ]; do sleep 60 & i=$((i+1)); done`, `{"processes":8}`, ""},
	} {
		m := w.call("process/start", startParams(test.id, test.script, `,"airlock":{"limits":`+test.limits+`}`))
		if m.Error != nil {
			if m.Error.Code != -32602 || m.Error.Data.Kind != string(protocol.KindLimitUnavailable) {
				t.Errorf("%s: refused with %s", test.id, m.text)
			}
			t.Logf("limits on %s are not tested here: %s", test.id, m.Error.Message)
			continue
		}
		if !strings.Contains(m.text, `"cgroup`) {
			t.Errorf("%s: %s", test.id, m.text)
		}
		if test.id == "processes" {
			for text := ""; !strings.Contains(text, "fork"); { // that it can't
				text += string(w.event(test.id).Params.Chunk)
			}
			w.call("airlock/processTerminate", `{"processId":"processes"}`)
		}
		if code, reason, _ := w.reasons(test.id); code == 0 || reason != test.reason && reason != "terminated" {
			t.Errorf("%s: exit code %d, reason %q", test.id, code, reason)
		}
	}
}

// TestLimitsBadInput: nothing that was asked for is ignored.
func TestLimitsBadInput(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	for limits, text := range map[string]string{
		`{"memory":1}`:                          "unknown field `memory`",
		`{"memoryBytes":0}`:                     "must be 1 to",
		`{"memoryBytes":-1}`:                    "invalid number",
		`{"memoryBytes":"1G"}`:                  "expected u64",
		`{"processes":99999999999}`:             "must be 1 to 2147483647",
		`{"cpuSeconds":1.5}`:                    "invalid number",
		`{"openFiles":2147483647}`:              "can't be enforced",
		`[]`:                                    "expected struct ProcessLimits",
		`{"fileBytes":18446744073709551615}`:    "must be 1 to",
		`{"fileBytes":18446744073709551616}`:    "invalid number",
		`{"memoryBytes":4096,"unheardOf":null}`: "unknown field `unheardOf`",
	} {
		w.wantRefused("process/start", startParams("p", "true", `,"airlock":{"limits":`+limits+`}`), -32602, text)
	}
}
