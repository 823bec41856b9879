package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// verdict is what the regression check says about one row.
type verdict struct {
	Measure   string  `json:"measure"`
	Row       string  `json:"row"`
	Baseline  float64 `json:"baseline"` // ratio to bare, as it was
	Ratio     float64 `json:"ratio"`    // as it is now; 0 when there is none
	WorseBy   float64 `json:"worseBy"`  // a factor; below 1 it is better
	Tolerance float64 `json:"tolerance"`
	// First is the ratio before the measure was repeated. It is absent when that
	// was not necessary.
	First  float64 `json:"first,omitempty"`
	Status string  `json:"status"` // one of those below
}

// What a verdict may be.
const (
	statusOK      = "ok"
	statusWorse   = "worse"
	statusBetter  = "better"  // by more than the tolerance: the baseline is out of date
	statusMissing = "missing" // the baseline has it, this run has not
	statusUnsure  = "unsure"  // worse, but others used too much of the machine to tell
)

// failed tells whether the check fails because of this row.
func (v verdict) failed() bool { return v.Status == statusWorse || v.Status == statusMissing }

// doubtful tells whether the row should be measured again.
func (v verdict) doubtful() bool { return v.Status == statusWorse || v.Status == statusUnsure }

// checked tells whether a row is for the regression check.
func (r *rowResult) checked() bool { return r.floor && r.steady }

// compare judges the rows of res by the baseline. Rows of measures that are not
// in res are left out.
func compare(b *baseline, res *results) []verdict {
	var verdicts []verdict
	for _, base := range b.Rows {
		if !slices.ContainsFunc(res.rows, func(r *rowResult) bool { return r.Measure == base.Measure }) {
			continue
		}
		v := verdict{Measure: base.Measure, Row: base.Row, Baseline: base.Ratio, Tolerance: base.Tolerance, Status: statusMissing}
		if ratio := res.find(base.Measure, base.Row).toBare(); ratio > 0 {
			v.Ratio, v.WorseBy = ratio, worseBy(base, ratio)
			v.Status = judge(v.WorseBy, base.Tolerance)
			if v.Status == statusWorse && isTiming(res.find(base.Measure, base.Row).Unit) && res.othersShare > crowdedShare {
				v.Status = statusUnsure
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// isTiming tells units of time and rates from those of size.
func isTiming(unit string) bool { return unit == "ms" || better(unit) == "more" }

// worseBy is the factor by which a ratio is worse than in the baseline.
func worseBy(base baselineRow, ratio float64) float64 {
	if base.Better == "more" {
		return base.Ratio / ratio
	}
	return ratio / base.Ratio
}

func judge(worseBy, tolerance float64) string {
	switch {
	case worseBy > tolerance:
		return statusWorse
	case worseBy < 1/tolerance:
		return statusBetter
	default:
		return statusOK
	}
}

// suspects are the measures to repeat before anything is said: those with a row
// that looks worse. What is missing will be missing again.
func suspects(verdicts []verdict, selected []measure) []measure {
	var again []measure
	for _, m := range selected {
		if slices.ContainsFunc(verdicts, func(v verdict) bool { return v.Measure == m.name && v.doubtful() }) {
			again = append(again, m)
		}
	}
	return again
}

// reconsider replaces the verdicts in doubt by those of the repetition.
// A row that was fine stays so.
func reconsider(first, second []verdict) []verdict {
	final := slices.Clone(first)
	for i, v := range final {
		for _, again := range second {
			if v.doubtful() && again.Measure == v.Measure && again.Row == v.Row {
				again.First = v.Ratio
				final[i] = again
			}
		}
	}
	return final
}

// printVerdicts shows the check as a table.
func printVerdicts(out io.Writer, verdicts []verdict) {
	fmt.Fprint(out, "\nregression check: ratios of Airlock to bare, beside the baseline's\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tbaseline\tnow\tworse by\tallowed\t")
	for _, v := range verdicts {
		now, factor := noFigure, noFigure
		if v.Status != statusMissing {
			now, factor = formatNumber(v.Ratio), fmt.Sprintf("%.2f", v.WorseBy)
		}
		note := v.Status
		if v.First > 0 {
			note += fmt.Sprintf(" (measured again: at first %s)", formatNumber(v.First))
		}
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\t%.2f\t%s\n", v.Measure, v.Row, formatNumber(v.Baseline), now, factor, v.Tolerance, note)
	}
	w.Flush()
}
