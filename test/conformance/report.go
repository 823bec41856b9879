package conformance

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Status is what became of a case.
type Status string

// What can become of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Failure is one check that failed, or why a case could not go on.
type Failure struct {
	// Step is the number of the step, "setup", or "end" for what the whole case
	// is to blame for.
	Step string `json:"step"`
	// Spec is the line of the specification that it stands on.
	Spec string `json:"spec"`
	// Did is what the step did.
	Did string `json:"did,omitempty"`
	// Expected and Came are JSON, or a sentence; long ones are cut.
	Expected string `json:"expected,omitempty"`
	Came     string `json:"came,omitempty"`
	// Mismatches are the places in which they differ.
	Mismatches []string `json:"mismatches,omitempty"`
}

// Result is what became of one case.
type Result struct {
	Case   string `json:"case"`
	Status Status `json:"status"`
	// Why a case was skipped.
	Why string `json:"why,omitempty"`
	// Checks that passed, that failed, that were not made because the case was
	// skipped or could not go on, and those in which the peer differs on purpose.
	Passed      int           `json:"passed"`
	Failed      int           `json:"failed"`
	NotMade     int           `json:"notMade"`
	Differences int           `json:"differences"`
	Failures    []Failure     `json:"failures,omitempty"`
	Elapsed     time.Duration `json:"-"`
}

// Report sums up a run.
type Report struct {
	// Peer says that the server was taken for the Codex exec-server.
	Peer bool
	// Version and Platform are what the server says of itself.
	Version, Platform string
	// Cases by what became of them, and their checks.
	PassedCases, FailedCases, SkippedCases int
	Passed, Failed, NotMade, Differences   int
	Elapsed                                time.Duration
}

// OK reports whether everything that was checked has passed.
func (r Report) OK() bool { return r.FailedCases == 0 && r.Failed == 0 }

// tally adds a case to a report.
func tally(r *Report, result Result) {
	switch result.Status {
	case Passed:
		r.PassedCases++
	case Failed:
		r.FailedCases++
	case Skipped:
		r.SkippedCases++
	}
	r.Passed += result.Passed
	r.Failed += result.Failed
	r.NotMade += result.NotMade
	r.Differences += result.Differences
}

// WriteText writes a result for a reader.
func (r Result) WriteText(w io.Writer) error {
	var b strings.Builder
	switch r.Status {
	case Passed:
		fmt.Fprintf(&b, "ok    %s (%s)\n", r.Case, r.checks())
	case Skipped:
		fmt.Fprintf(&b, "skip  %s: %s\n", r.Case, r.Why)
	case Failed:
		fmt.Fprintf(&b, "FAIL  %s (%s)\n", r.Case, r.checks())
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "      step %s, %s", f.Step, f.Spec)
		if f.Did != "" {
			fmt.Fprintf(&b, ": %s", f.Did)
		}
		b.WriteByte('\n')
		for _, line := range []struct{ label, text string }{{"expected", f.Expected}, {"came", f.Came}} {
			if line.text != "" {
				fmt.Fprintf(&b, "        %-8s %s\n", line.label, line.text)
			}
		}
		for _, m := range f.Mismatches {
			fmt.Fprintf(&b, "        at       %s\n", m)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Result) checks() string {
	text := []string{plural(r.Passed, "check")}
	for _, more := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.NotMade, "not made"}, {r.Differences, "intended differences"}} {
		if more.n > 0 {
			text = append(text, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	return strings.Join(text, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteText writes the sum for a reader.
func (r Report) WriteText(w io.Writer) error {
	server := "Airlock"
	if r.Peer {
		server = "the peer"
	}
	_, err := fmt.Fprintf(w, "%s (executor version %s, %s): %d cases passed, %d failed, %d skipped; "+
		"%d checks passed, %d failed, %d not made, %d intended differences; %.1f s\n",
		server, r.Version, r.Platform, r.PassedCases, r.FailedCases, r.SkippedCases,
		r.Passed, r.Failed, r.NotMade, r.Differences, r.Elapsed.Seconds())
	return err
}

// milliseconds is how times stand in JSON lines.
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// WriteJSON writes a result as one line of JSON.
func (r Result) WriteJSON(w io.Writer) error {
	type plain Result
	return writeLine(w, struct {
		plain
		Milliseconds int64 `json:"ms"`
	}{plain(r), milliseconds(r.Elapsed)})
}

// WriteJSON writes the sum as one line of JSON, which has the member summary.
func (r Report) WriteJSON(w io.Writer) error {
	type summary struct {
		Peer         bool   `json:"peer"`
		Version      string `json:"executorVersion"`
		Platform     string `json:"platformOs"`
		PassedCases  int    `json:"passedCases"`
		FailedCases  int    `json:"failedCases"`
		SkippedCases int    `json:"skippedCases"`
		Passed       int    `json:"passed"`
		Failed       int    `json:"failed"`
		NotMade      int    `json:"notMade"`
		Differences  int    `json:"differences"`
		Milliseconds int64  `json:"ms"`
	}
	return writeLine(w, struct {
		Summary summary `json:"summary"`
	}{summary{
		r.Peer, r.Version, r.Platform, r.PassedCases, r.FailedCases, r.SkippedCases,
		r.Passed, r.Failed, r.NotMade, r.Differences, milliseconds(r.Elapsed),
	}})
}

// WriteList writes what a case is, as one line of text or JSON.
func (c *Case) WriteList(w io.Writer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintf(w, "%s (%s; %s)\n", c.Name, c.Spec, plural(c.Checks, "check"))
		return err
	}
	ids := []string{}
	for _, d := range c.Differences {
		ids = append(ids, d.ID)
	}
	return writeLine(w, struct {
		Case    string   `json:"case"`
		Spec    string   `json:"spec"`
		Checks  int      `json:"checks"`
		Slow    bool     `json:"slow"`
		Differs []string `json:"differs"`
	}{c.Name, c.Spec, c.Checks, c.slow, ids})
}

func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
