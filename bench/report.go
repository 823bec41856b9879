package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// printTable prints the medians, ratios and budgets.
func printTable(out io.Writer, res *results, rounds int, quick bool) {
	fmt.Fprintf(out, "\n%s/%s, %d CPUs, %s, rounds: %d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), rounds)
	if quick {
		fmt.Fprint(out, " (quick: smaller sizes than the budgets are meant for)")
	}
	fmt.Fprint(out, "\nmedians over rounds; ratios are medians of the ratios within each round\n\n")

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	contestants := []string{bareName, peerName, airlockName}
	header := append([]string{"what", "unit"}, contestants...)
	for _, pair := range ratioPairs {
		header = append(header, ratioKey(pair[0], pair[1]))
	}
	fmt.Fprintln(w, strings.Join(append(header, "budget", ""), "\t"))
	for _, r := range res.rows {
		cells := []string{r.Title, r.Unit}
		for _, who := range contestants {
			cells = append(cells, cell(r.Medians, who))
		}
		for _, pair := range ratioPairs {
			cells = append(cells, cell(r.Ratios, ratioKey(pair[0], pair[1])))
		}
		fmt.Fprintln(w, strings.Join(append(cells, r.Budget, r.Verdict), "\t"))
	}
	w.Flush()
}

func cell(values map[string]float64, key string) string {
	if v, ok := values[key]; ok {
		return formatNumber(v)
	}
	return "n/a"
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

// writeJSON writes everything found to a file.
func writeJSON(path string, res *results, failures []string, rounds int, quick bool) error {
	report := struct {
		Time     time.Time    `json:"time"`
		OS       string       `json:"os"`
		Arch     string       `json:"arch"`
		CPUs     int          `json:"cpus"`
		Rounds   int          `json:"rounds"`
		Quick    bool         `json:"quick"`
		Rows     []*rowResult `json:"rows"`
		Failures []string     `json:"failures,omitempty"`
	}{time.Now().UTC(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds, quick, res.rows, failures}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
