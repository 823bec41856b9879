package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// reportVersion is the version of the form of the report. It changes when
// something that was there is gone or means something else.
const reportVersion = 1

// report is everything found by one run. report.schema.json describes it.
type report struct {
	Version int       `json:"version"`
	Date    time.Time `json:"date"` // when the run began
	Machine machine   `json:"machine"`
	Sizes   string    `json:"sizes"` // full, quick or check
	Rounds  int       `json:"rounds"`
	// OthersShare is the share of the machine's processor time that programs which
	// are no part of this used during the run; 0 where it is not known.
	OthersShare float64      `json:"othersShare"`
	Contestants []string     `json:"contestants"`
	Rows        []*rowResult `json:"rows"`
	Failures    []string     `json:"failures,omitempty"`
	Check       []verdict    `json:"check,omitempty"` // with --against
}

// printTable prints the medians, ratios and budgets.
func printTable(out io.Writer, res *results, m machine, size sizes) {
	fmt.Fprintf(out, "\n%s, rounds: %d, others used %.0f %% of the machine", m, res.rounds, 100*res.othersShare)
	if size.name != full.name {
		fmt.Fprintf(out, " (%s: smaller sizes than the budgets are meant for)", size.name)
	}
	fmt.Fprint(out, "\nmedians over rounds; ratios are medians of the ratios within each round\n\n")

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	header := append([]string{"what", "unit"}, res.contestants...)
	var pairs [][2]string
	for _, pair := range ratioPairs {
		if res.takesPart(pair[0]) && res.takesPart(pair[1]) {
			pairs = append(pairs, pair)
			header = append(header, ratioKey(pair[0], pair[1]))
		}
	}
	fmt.Fprintln(w, strings.Join(append(header, "budget", ""), "\t"))
	for _, r := range res.rows {
		cells := []string{r.Title, r.Unit}
		for _, who := range res.contestants {
			cells = append(cells, r.cell(who))
		}
		for _, pair := range pairs {
			text := noFigure
			if ratio, ok := r.Ratios[ratioKey(pair[0], pair[1])]; ok {
				text = formatNumber(ratio)
			}
			cells = append(cells, text)
		}
		budget := ""
		if r.Budget != nil {
			budget = r.Budget.Text
		}
		fmt.Fprintln(w, strings.Join(append(cells, budget, r.Budget.verdict()), "\t"))
	}
	w.Flush()
}

// noFigure stands where there can be none: no floor, or nothing to compare.
const noFigure = "-"

// cell is a contestant's median, or in a few words why there is none.
func (r *rowResult) cell(who string) string {
	if f := r.Figures[who]; f != nil {
		return formatNumber(f.Median)
	}
	if who == bareName && !r.floor {
		return noFigure
	}
	short, _, _ := strings.Cut(r.Missing[who], ":")
	if short == "" {
		return notAvailable
	}
	return short
}

// formatNumber gives about three digits, which is more than the noise allows.
func formatNumber(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1 || v <= -1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// writeJSON writes v to a file.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing what was found: %w", err)
	}
	return nil
}
