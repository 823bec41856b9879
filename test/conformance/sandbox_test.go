package conformance_test

import (
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/test/conformance"
)

// TestNeedsSandbox: cases that need a sandbox are left out where the server says
// that it can't confine a process, with its reason, and only there.
func TestNeedsSandbox(t *testing.T) {
	t.Parallel()
	const (
		started = `"result":{"processId":"p","sandboxType":"none"}`
		ended   = `"exitCode":0,"sandboxDenied":false`
	)
	place := strings.Replace(info, "{", `{"tempDir":"file:///t",`, 1)
	theirs := strings.Replace(place, `,"airlock":{}`, "", 1)
	for _, test := range []struct {
		name    string
		replace []string
		want    string // why the case is skipped; "": it is run
		err     string // why nothing is run
	}{
		{"it can", nil, "", ""},
		{"refused", []string{started, `"error":{"code":-32602,"message":"there is no way","data":{"kind":"sandboxUnavailable"}}`}, "there is no way", ""},
		{"refused when it was prepared", []string{started, `"error":{"code":-32602,"message":"no such thing","data":{"kind":"sandboxPreparation"}}`}, "no such thing", ""},
		{"failed", []string{ended, `"exitCode":1,"sandboxDenied":false,"airlock":{"setupError":{"stage":"namespaces","message":"not here"}}`}, "namespaces: not here", ""},
		{"the peer failed", []string{info, theirs, ended, `"exitCode":1,"sandboxDenied":true`, `"stdout"`, `"stderr"`}, "exit code 1: hi", ""},
		{"the peer can", []string{info, theirs}, "", ""},
		{"it says no, but not that it can't", []string{started, `"error":{"code":-32602,"message":"no","data":{"kind":"other"}}`}, "", "was answered"},
		{"it fails, and says nothing of a sandbox", []string{ended, `"exitCode":1,"sandboxDenied":false`}, "", "that does nothing ended with"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := files(t, `{"about":"x","cases":[{"name":"c","spec":"05 §4.1","needs":["sandbox"],"steps":[`+status+`]},{"name":"d","spec":"01 §8","steps":[`+status+`]}]}`)
			results := map[string]conformance.Result{}
			pairs := append(test.replace, info, place, `"processId":"p"`, `"processId":"confined"`)
			report, err := s.Run(t.Context(), conformance.Options{URL: fake(t, replacing(pairs...)), Done: func(r conformance.Result) { results[r.Case] = r }})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || !report.OK() || results["t/d"].Status != conformance.Passed {
				t.Fatalf("%+v, error %v", results, err)
			}
			skipped := results["t/c"].Status == conformance.Skipped
			if skipped != (test.want != "") || !strings.HasSuffix(results["t/c"].Why, test.want) {
				t.Errorf("%+v, want %q", results["t/c"], test.want)
			}
		})
	}
}
