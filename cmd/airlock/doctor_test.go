package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/doctor"
)

func exampleReport() *doctor.Report {
	const mend = "Buy a newer one, which has all of it, and more of everything than this one, or so they say in the shop."
	return &doctor.Report{Checks: []doctor.Check{
		{Name: "first", Group: doctor.Processes, Status: doctor.OK, Default: true, Found: "it works", Purpose: "to start"},
		{Name: "longer-name", Group: doctor.Processes, Status: doctor.Weaker, Default: true, Found: "half of\n\x1b[31mit", Purpose: "to go on", Mend: mend},
		{Name: "third", Group: doctor.Sandbox, Status: doctor.Missing, Found: "none", Purpose: "to end", Mend: mend},
		{Name: "fourth", Group: doctor.System, Status: doctor.Missing, Default: true, Found: "none", Purpose: "to know"},
	}}
}

const exampleText = `Processes
  ok       first        it works
  weaker   longer-name  half of\n\x1b[31mit
                        What for: to go on.
                        To mend: Buy a newer one, which has all of it, and more of everything than this one,
                        or so they say in the shop.

The sandbox
  missing  third        none
                        What for: to end.
                        To mend: the same as for longer-name.

System
  missing  fourth       none
                        What for: to know.

Not available, but relied on by default: fourth.
`

func TestPrintReport(t *testing.T) {
	t.Parallel()
	var plain, coloured bytes.Buffer
	if err := errors.Join(printReport(&plain, exampleReport(), false), printReport(&coloured, exampleReport(), true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(exampleText, plain.String()); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	stripped := coloured.String()
	for _, colour := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[m"} {
		if !strings.Contains(stripped, colour) {
			t.Errorf("%q is missing", colour)
		}
		stripped = strings.ReplaceAll(stripped, colour, "")
	}
	if diff := cmp.Diff(exampleText, stripped); diff != "" {
		t.Errorf("coloured, without the colours (-want +got):\n%s", diff)
	}
	plain.Reset()
	if err := printReport(&plain, &doctor.Report{}, false); err != nil || plain.String() != "\nAll that is relied on by default is available.\n" {
		t.Errorf("of nothing: %q, %v", plain.String(), err)
	}
}

// Every group has a headline, and every status a colour.
func TestReportTables(t *testing.T) {
	t.Parallel()
	for _, g := range []doctor.Group{doctor.Processes, doctor.Limits, doctor.Sandbox, doctor.Room, doctor.Folders, doctor.System} {
		if groupTitles[g] == "" {
			t.Errorf("group %s has no headline", g)
		}
	}
	for _, s := range []doctor.Status{doctor.OK, doctor.Weaker, doctor.Missing} {
		if statusColours[s] == 0 {
			t.Errorf("status %s has no colour", s)
		}
	}
}

type broken struct{}

var errBroken = errors.New("nobody reads this")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// A report that can't be told is the doctor's own failure.
func TestDoctorFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		_, ctx, err := parse(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		ctx.Stdout = broken{}
		err = ctx.Run()
		var stderr bytes.Buffer
		if status := report(&stderr, "doctor", err); status != exitFailure || !errors.Is(err, errBroken) {
			t.Errorf("%v: status %d, %v", args, status, err)
		}
	}
}
