package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/test/conformance"
)

// executor is a fake server that runs nothing: what a process prints and how it
// ends is looked up by its first argument that is known here.
type executor map[string]struct {
	stdout, stderr string
	exitCode       int
}

// reply answers one message; other methods get what other says.
func (e executor) reply(other string) func(string) []string {
	return func(text string) []string {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProcessID string   `json:"processId"`
				Argv      []string `json:"argv"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(text), &message); err != nil {
			return []string{"what?"}
		}
		if message.Method != "process/start" {
			if message.Method == "http/request" {
				return []string{fmt.Sprintf(`{"id":%s,%s}`, message.ID, other)}
			}
			return replacing(info, strings.Replace(info, "{", `{"tempDir":"file:///t",`, 1))(text)
		}
		replies := []string{fmt.Sprintf(`{"id":%s,"result":{"processId":%q,"sandboxType":"none"}}`, message.ID, message.Params.ProcessID)}
		seq := 0
		event := func(method, format string, args ...any) {
			seq++
			replies = append(replies, fmt.Sprintf(`{"method":"process/%s","params":{"processId":%q,"seq":%d%s}}`, method, message.Params.ProcessID, seq, fmt.Sprintf(format, args...)))
		}
		for _, arg := range message.Params.Argv[1:] {
			end, known := e[arg]
			if !known {
				continue
			}
			for stream, text := range map[string]string{"stdout": end.stdout, "stderr": end.stderr} {
				if text != "" {
					event("output", `,"stream":%q,"chunk":%q`, stream, base64.StdEncoding.EncodeToString([]byte(text)))
				}
			}
			event("exited", `,"exitCode":%d,"sandboxDenied":false`, end.exitCode)
			break
		}
		event("closed", "")
		return replies
	}
}

// TestFolders: a folder is made, used and removed, and what goes wrong with it is
// told.
func TestFolders(t *testing.T) {
	t.Parallel()
	const steps = `{"shell":"look","expect":"seen"},{"call":"environment/status","expect":{"result":{"status":"ready"}}}`
	good := executor{"prepare": {stdout: "/t/f 1"}, "look": {stdout: "seen"}, "/t/f 1": {}}
	for _, test := range []struct {
		name   string
		change func(executor)
		want   string // in the report; empty: it passes
	}{
		{"all is well", func(executor) {}, ""},
		{"it can't be made", func(e executor) { e["prepare"] = executor{"": {exitCode: 1}}[""] }, `making a folder in "file:///t" ended with`},
		{"it can't be prepared", func(e executor) { e["prepare"] = executor{"": {stdout: "/t/f 1", exitCode: 2}}[""] }, `making a folder in "file:///t" ended with`},
		{"it can't be removed", func(e executor) { e["/t/f 1"] = executor{"": {exitCode: 1}}[""] }, `removing /t/f 1`},
		{"a script prints something else", func(e executor) { e["look"] = executor{"": {stdout: "sein"}}[""] }, `expected "seen", came "sein"`},
		{"a script fails", func(e executor) { e["look"] = executor{"": {stdout: "seen", exitCode: 3}}[""] }, `the script ended with`},
		{"a script complains", func(e executor) { e["look"] = executor{"": {stdout: "seen", stderr: "but"}}[""] }, `the script ended with`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := maps.Clone(good)
			test.change(server)
			s := files(t, `{"about":"a test","cases":[{"name":"c","spec":"01 §8","folder":"prepare","steps":[`+steps+`]}]}`)
			var text strings.Builder
			report, err := s.Run(t.Context(), conformance.Options{URL: fake(t, server.reply(`"result":{}`)), Done: func(r conformance.Result) { _ = r.WriteText(&text) }})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" && (!report.OK() || report.Passed != 2) {
				t.Errorf("%+v\n%s", report, text.String())
			}
			if test.want != "" && (report.OK() || !strings.Contains(unpadded(text.String()), test.want)) {
				t.Errorf("expected a failure with %q; the report:\n%s", test.want, text.String())
			}
		})
	}
}

// TestUnreachableOrigin: where the server can't reach an origin, its cases are not
// made, and the report says why. A server that has no such method is tested.
func TestUnreachableOrigin(t *testing.T) {
	t.Parallel()
	s := files(t, `{"about":"a test","cases":[
		{"name":"with","spec":"01 §8","origin":{"/":{}},"steps":[{"call":"http/request","params":{"url":"${origin}/"},"expect":{"result":{"status":200}}}]},
		{"name":"without","spec":"01 §8","steps":[`+status+`]}]}`)
	for _, test := range []struct {
		name, answer    string
		skipped, failed int
	}{
		{"it can't connect", `"error":{"code":-32603,"message":"http/request failed: error sending request for url (…)"}`, 1, 0},
		{"something else answers", `"result":{"status":502,"headers":[],"bodyBase64":""}`, 1, 0},
		{"no such method", `"error":{"code":-32601,"message":"no"}`, 0, 1},
	} {
		var text strings.Builder
		report, err := s.Run(t.Context(), conformance.Options{URL: fake(t, executor{}.reply(test.answer)), Done: func(r conformance.Result) { _ = r.WriteText(&text) }})
		if err != nil {
			t.Fatal(err)
		}
		if report.SkippedCases != test.skipped || report.FailedCases != test.failed {
			t.Errorf("%s: %+v\n%s", test.name, report, text.String())
		}
		if test.skipped > 0 && !strings.Contains(text.String(), "skip  t/with: the server can't reach an HTTP server here on 127.0.0.1") {
			t.Errorf("%s: the report does not say why:\n%s", test.name, text.String())
		}
	}
}
