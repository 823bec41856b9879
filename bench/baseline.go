package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// baseline is what the regression check compares with: how many times the bare
// loop's figure Airlock's was, and how far from that it may be. It holds no
// absolute figures, which would only say how fast a machine is.
type baseline struct {
	Version int           `json:"version"`
	Date    time.Time     `json:"date"`
	Machine machine       `json:"machine"` // where it was taken
	Trials  int           `json:"trials"`
	Rows    []baselineRow `json:"rows"`
	// LeftOut are rows too noisy to be checked.
	LeftOut []baselineRow `json:"leftOut,omitempty"`
}

const baselineVersion = 1

// baselineRow is one row's ratio to bare.
type baselineRow struct {
	Measure string `json:"measure"`
	Row     string `json:"row"`
	Better  string `json:"better"` // less or more
	// Ratio is the median over the trials.
	Ratio float64 `json:"ratio"`
	// Noise is the standard deviation of the logarithms of the trials' ratios:
	// 0.03 says that a trial is typically three per cent off.
	Noise float64 `json:"noise"`
	// Tolerance is the factor by which the ratio may be worse.
	Tolerance float64 `json:"tolerance"`
}

// How a tolerance comes from the noise. A check that comes out worse than the
// tolerance is repeated, and fails only if the repetition is worse, too. With
// ten trials and the noise they show, one check is more than four standard
// deviations off in one of 500 cases (Student's t with nine degrees of freedom),
// two in one of 250,000.
const (
	noiseFactor = 4
	// minTolerance is for rows that hardly vary from trial to trial: they still
	// vary from build to build, from day to day and, above all, from one machine
	// to the next, which need not be the one that the baseline was taken on.
	minTolerance = 1.3
	// maxTolerance leaves room to see that something takes half as long again. A
	// row with more noise could not tell that apart from an ordinary day, and is
	// left out.
	maxTolerance = 1.35
	// minTrials is what an estimate of the noise takes.
	minTrials = 5
)

// tolerate derives a row of the baseline from its ratio in each trial, all of
// them positive. It reports whether the row is steady enough to be checked.
func tolerate(trials []float64) (ratio, noise, tolerance float64, steady bool) {
	var sum, squares float64
	for _, r := range trials {
		sum += math.Log(r)
	}
	mean := sum / float64(len(trials))
	for _, r := range trials {
		squares += (math.Log(r) - mean) * (math.Log(r) - mean)
	}
	noise = math.Sqrt(squares / float64(len(trials)-1))
	tolerance = max(minTolerance, math.Exp(noiseFactor*noise))
	return median(trials), noise, tolerance, tolerance <= maxTolerance
}

// newBaseline makes a baseline from the results of the trials. A row that some
// trial could not measure is no part of it.
func newBaseline(trials []*results, m machine, date time.Time) *baseline {
	b := &baseline{Version: baselineVersion, Date: date, Machine: m, Trials: len(trials)}
	for _, r := range trials[0].rows {
		var found []float64
		for _, trial := range trials {
			if ratio := trial.find(r.Measure, r.Row).toBare(); ratio > 0 {
				found = append(found, ratio)
			}
		}
		if !r.checked() || len(found) < len(trials) {
			continue
		}
		row := baselineRow{Measure: r.Measure, Row: r.Row, Better: r.Better}
		var steady bool
		row.Ratio, row.Noise, row.Tolerance, steady = tolerate(found)
		row.Ratio, row.Noise, row.Tolerance = rounded(row.Ratio), rounded(row.Noise), rounded(row.Tolerance)
		if steady {
			b.Rows = append(b.Rows, row)
		} else {
			b.LeftOut = append(b.LeftOut, row)
		}
	}
	return b
}

// has tells whether some row of a measure is in the baseline.
func (b *baseline) has(m measure) bool {
	return slices.ContainsFunc(b.Rows, func(r baselineRow) bool { return r.Measure == m.name })
}

// rounded keeps three digits after the point, so that a baseline can be read.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// readBaseline reads a baseline and sees that it can be compared with.
func readBaseline(path string) (*baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	var b baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("reading the baseline %s: %w", path, err)
	}
	if err := b.verify(); err != nil {
		return nil, fmt.Errorf("the baseline %s: %w; make a new one with --write-baseline", path, err)
	}
	return &b, nil
}

// verify refuses what would make the check pass whatever is measured.
func (b *baseline) verify() error {
	if b.Version != baselineVersion {
		return fmt.Errorf("its version is %d, this program knows %d", b.Version, baselineVersion)
	}
	if len(b.Rows) == 0 {
		return errors.New("it has no rows")
	}
	for _, r := range b.Rows {
		switch {
		case r.Better != "less" && r.Better != "more":
			return fmt.Errorf("%s/%s: better is %q, not less or more", r.Measure, r.Row, r.Better)
		case !(r.Ratio > 0) || !(r.Tolerance >= 1 && r.Tolerance <= maxTolerance):
			return fmt.Errorf("%s/%s: ratio %g or tolerance %g is out of range", r.Measure, r.Row, r.Ratio, r.Tolerance)
		}
	}
	return nil
}

// print shows the baseline as a table.
func (b *baseline) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s, trials: %d\nratios of Airlock to bare\n\n", b.Machine, b.Trials)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tratio\tnoise\ttolerance\t")
	line := func(r baselineRow, note string) {
		fmt.Fprintf(w, "%s/%s\t%s\t%.1f %%\t%.2f\t%s\n", r.Measure, r.Row, formatNumber(r.Ratio), 100*r.Noise, r.Tolerance, note)
	}
	for _, r := range b.Rows {
		line(r, "")
	}
	for _, r := range b.LeftOut {
		line(r, "left out: too noisy to be checked")
	}
	w.Flush()
}
