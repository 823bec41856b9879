package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/test/conformance"
)

// TestBadFiles: what a case says that is not understood is refused, with the
// file and the case.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	with := func(format string, args ...any) string {
		return `{"about":"x","cases":[{"name":"good","spec":"01 §8","steps":[` + status + `]},` + fmt.Sprintf(format, args...) + `]}`
	}
	step := func(text string) string { return with(`{"name":"bad","spec":"01 §8","steps":[%s,%s]}`, text, status) }
	for _, test := range []struct {
		text, want string
	}{
		{`{`, "EOF"},
		{`{"about":"x","cases":[]}`, "cases must not be empty"},
		{`{"cases":[{}]}`, "about must say"},
		{`{"about":"x","cases":[{}],"extra":1}`, `unknown member "extra"`},
		{with(`{"name":"bad","spec":"01 §8","steps":[],"x":1}`), `case 2 (bad): unknown member "x"`},
		{with(`{"name":"bad","spec":"01 §8","steps":[]}`), "case 2 (bad): there are no steps"},
		{with(`{"name":"bad","spec":"01 §8","steps":5}`), "case 2 (bad): /steps: it can't be a JSON number"},
		{with(`{"name":"bad","spec":"8","steps":[%s]}`, status), `spec must be a line of the specification such as "01 §4.2", not "8"`},
		{with(`{"name":"Bad Name","spec":"01 §8","steps":[%s]}`, status), "name must be small letters"},
		{with(`{"name":"good","spec":"01 §8","steps":[%s]}`, status), "case t/good is there twice"},
		{with(`{"name":"bad","spec":"01 §8","setup":"x","steps":[%s]}`, status), "setup must be one of session, connection, none"},
		{with(`{"name":"bad","spec":"01 §8","needs":["x"],"steps":[%s]}`, status), `needs may have linux, token, sandbox, not "x"`},
		{with(`{"name":"bad","spec":"01 §8","steps":[{"notify":"initialized"}]}`), "the case checks nothing"},
		{with(`{"name":"bad","spec":"01 §8","differs":{"id":"x"},"steps":[%s]}`, status), "in peer what the peer does"},
		{with(`{"name":"bad","spec":"01 §8","differs":{"id":"x","peer":"y","expect":1},"steps":[%s]}`, status), "expect can't stand here"},
		{step(`5`), "case 2 (bad): step 1: it must be an object"},
		{step(`{}`), "it does nothing that is known"},
		{step(`{"shout":"x"}`), "it does nothing that is known"},
		{step(`{"call":"x","begin":"y"}`), "it does several things at once: begin, call"},
		{step(`{"call":"x","expects":{}}`), `unknown member "expects" of a step that does call`},
		{step(`{"call":5}`), "call: it must be a text, not 5"},
		{step(`{"begin":"x"}`), "begin needs the member as"},
		{step(`{"begin":"x","as":"not a name"}`), "it must be a name of letters and digits"},
		{step(`{"call":"x","params":"${nothing}"}`), "params: ${nothing} has not been captured by then"},
		{step(`{"call":"x","expect":"${nothing}"}`), "expect: ${nothing} has not been captured by then"},
		{step(`{"call":"x","params":{"$base65":"x"}}`), "can't be sent"},
		{step(`{"call":"x","params":{"$base64":"x","a":1}}`), "can't be sent"},
		{step(`{"call":"x","params":{"sandbox":{"$sandbox":["read everything"]}}}`), "names neither a kind of place"},
		{step(`{"call":"x","expect":{"$metch":"x"}}`), "there is no matcher $metch"},
		{step(`{"call":"x","expect":{"$match":"("}}`), "is no regular expression"},
		{step(`{"call":"x","expect":{"$type":"number"}}`), "$type can't have the argument"},
		{step(`{"call":"x","expect":{"$between":[2,1]}}`), "two whole numbers, the lower first"},
		{step(`{"call":"x","expect":{"$open":[]}}`), "$open can't have the argument"},
		{step(`{"call":"x","expect":{"$any":false}}`), "$any can't have the argument"},
		{step(`{"call":"x","expect":{"$lines":"x"}}`), "$lines can't have the argument"},
		{step(`{"call":"x","expect":{"$use":"x"}}`), "the file does not define"},
		{step(`{"call":"x","took":[1]}`), "took: it must be two whole numbers"},
		{step(`{"call":"x","limit":0}`), "limit must be a number of milliseconds"},
		{step(`{"call":"x","spec":"x"}`), "spec must be a line"},
		{step(`{"call":"x","differs":{"id":"x","peer":"y"}}`), "differs stands at a step that checks nothing"},
		{step(`{"call":"x","expect":1,"differs":{"id":"x","peer":"y","more":1}}`), `differs: unknown member "more"`},
		{step(`{"outcome":"p","expect":{"exitcode":0}}`), `unknown member "exitcode"; it may have stdout`},
		{step(`{"outcome":"p"}`), "outcome needs the member expect"},
		{step(`{"output":"p"}`), "either expect"},
		{step(`{"start":"p"}`), "either script or argv"},
		{step(`{"start":"p","script":"x","with":5}`), "with must be an object"},
		{step(`{"frame":{"opcode":16}}`), "opcode must be a number from 0 to 15"},
		{step(`{"frame":{"opcode":1,"mask":true}}`), `frame: unknown member "mask"`},
		{step(`{"http":{"path":"/"},"expect":1}`), `http: unknown member "path"`},
		{step(`{"http":{"headers":["x"]},"expect":1}`), "a header must be a name and a value"},
		{step(`{"repeat":3,"steps":[{"call":"x","a":1}]}`), "step 1.1: unknown member"},
		{step(`{"repeat":3,"steps":[]}`), "steps must be a list of steps"},
		{step(`{"repeat":-1,"steps":[` + status + `]}`), "it must be a whole number"},
		{step(`{"order":[]}`), "it must be a list of names"},
		{step(`{"call":"x","call":"y"}`), "duplicate"},
		{step(`{"shell":"ls"}`), "shell: the case has no folder"},
		{step(`{"call":"x","params":"${dir}"}`), "${dir} has not been captured by then"},
		{step(`{"asked":"/"}`), "asked: the case has no origin"},
		{step(`{"release":"go"}`), "release: the case has no origin"},
		{step(`{"body":"s","expect":"x"}`), "expect must be an object"},
		{step(`{"body":"s","expect":{"txt":"x"}}`), `unknown member "txt"; it may have text`},
		{with(`{"name":"bad","spec":"01 §8","setup":"none","folder":":","steps":[%s]}`, status), "only for the setup session"},
		{with(`{"name":"bad","spec":"01 §8","setup":"connection","origin":{"/":{}},"steps":[%s]}`, status), "only for the setup session"},
		{with(`{"name":"bad","spec":"01 §8","origin":{},"steps":[%s]}`, status), "origin must be an object of answers"},
		{with(`{"name":"bad","spec":"01 §8","origin":{"/":5},"steps":[%s]}`, status), "origin: /: an answer must be an object"},
		{with(`{"name":"bad","spec":"01 §8","origin":{"/":{"text":"x"}},"steps":[%s]}`, status), `unknown member "text"`},
		{with(`{"name":"bad","spec":"01 §8","origin":{"/":{"body":[{"hold":"x"}]}},"steps":[%s]}`, status), "a part must be a text or"},
		{with(`{"name":"bad","spec":"01 §8","origin":{"/":{"headers":[["x"]]}},"steps":[%s]}`, status), "a header must be a name and a value"},
		{with(`{"name":"bad","spec":"01 §8","origin":{"/":{"body":"${dir}"}},"steps":[%s]}`, status), "${dir} has not been captured by then"},
	} {
		_, err := conformance.LoadFS(fstest.MapFS{"cases/t.json": {Data: []byte(test.text)}})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "cases/t.json: ") {
			t.Errorf("%s\n  error %v\n  want  %s", test.text, err, test.want)
		}
	}
	if _, err := conformance.LoadFS(fstest.MapFS{}); err == nil {
		t.Error("a suite without cases")
	}
}

// TestDifferences: what the peer is excused from is not held against it, and a
// server that is Airlock is not excused.
func TestDifferences(t *testing.T) {
	t.Parallel()
	steps := `{"call":"environment/status","expect":{"result":{"status":"steady"}},"differs":{"id":"d","peer":"is ready"}},` +
		`{"call":"environment/status","expect":{"result":{"status":"steady"}},"differs":{"id":"d","peer":"is ready","expect":{"result":{"status":"ready"}}}},` + status
	ours := one(t, fake(t, replacing()), steps, conformance.Options{})
	if ours.Status != conformance.Failed || ours.Failed != 2 || ours.Passed != 1 || ours.Differences != 0 {
		t.Errorf("Airlock: %+v", ours)
	}
	for name, url := range map[string]string{
		"told by an option": fake(t, replacing()), "told by what it says": fake(t, replacing(`,"airlock":{}`, ``)),
	} {
		peer := one(t, url, steps, conformance.Options{Peer: name == "told by an option"})
		if peer.Status != conformance.Passed || peer.Failed != 0 || peer.Passed != 1 || peer.Differences != 2 {
			t.Errorf("the peer, %s: %+v", name, peer)
		}
	}
	wrong := one(t, fake(t, replacing(`"ready"`, `"gone"`)), steps, conformance.Options{Peer: true})
	if wrong.Status != conformance.Failed || wrong.Failed != 2 || wrong.Differences != 1 {
		t.Errorf("a peer that does something else again: %+v", wrong)
	}
	whole := files(t, `{"about":"x","cases":[{"name":"c","spec":"01 §8","differs":{"id":"d","peer":"hangs"},"steps":[`+status+`]}]}`)
	var result conformance.Result
	report, err := whole.Run(t.Context(), conformance.Options{URL: fake(t, replacing()), Peer: true, Done: func(r conformance.Result) { result = r }})
	if err != nil || !report.OK() || result.Status != conformance.Skipped || result.Differences != 1 || !strings.Contains(result.Why, "hangs") {
		t.Errorf("a case that is not for the peer: %+v, error %v", result, err)
	}
}

// TestSelect: cases are chosen by their names, and what chooses none is a fault.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := suite(t)
	chosen, err := s.Select("^207-.*/closed")
	if err != nil || len(chosen) != 1 || chosen[0].Name != "207-retention/closed-process-is-forgotten" {
		t.Errorf("%v, error %v", chosen, err)
	}
	for _, pattern := range []string{"(", "no such case"} {
		if _, err := s.Select(pattern); !errors.Is(err, conformance.ErrUsage) {
			t.Errorf("pattern %q: %v", pattern, err)
		}
	}
}

// TestOrderOfResults: results come in the order of the suite, however long each
// case takes.
func TestOrderOfResults(t *testing.T) {
	t.Parallel()
	var cases, want []string
	for i := range 20 {
		name := fmt.Sprintf("c%d", i)
		cases = append(cases, fmt.Sprintf(`{"name":%q,"spec":"01 §8","steps":[{"pause":%d},%s]}`, name, 60-3*i, status))
		want = append(want, "t/"+name)
	}
	var got []string
	s := files(t, `{"about":"x","cases":[`+strings.Join(cases, ",")+`]}`)
	report, err := s.Run(t.Context(), conformance.Options{URL: fake(t, replacing()), Jobs: 5, Done: func(r conformance.Result) { got = append(got, r.Case) }})
	if err != nil || !report.OK() || report.PassedCases != 20 || report.Passed != 20 {
		t.Errorf("%+v, error %v", report, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestJSON: a line for each case and one for the sum, as documented.
func TestJSON(t *testing.T) {
	t.Parallel()
	result := one(t, fake(t, replacing(`"ready"`, `"steady"`)), status, conformance.Options{})
	result.Elapsed = 1_500_000
	var out strings.Builder
	if err := result.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if err := (conformance.Report{Version: "1.2.3", Platform: "linux", FailedCases: 1, Failed: 1}).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	want := `{"case":"t/c","status":"failed","passed":0,"failed":1,"notMade":0,"differences":0,"failures":[{"step":"1","spec":"01 §8","did":"call \"environment/status\"","expected":"{\"result\":{\"status\":\"ready\"}}","came":"{\"result\":{\"status\":\"steady\"}}","mismatches":[".result.status: expected \"ready\", came \"steady\""]}],"ms":1}
{"summary":{"peer":false,"executorVersion":"1.2.3","platformOs":"linux","passedCases":0,"failedCases":1,"skippedCases":0,"passed":0,"failed":1,"notMade":0,"differences":0,"ms":0}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}
