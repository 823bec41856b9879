package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestBudget(t *testing.T) {
	medians := map[string]float64{airlockName: 10}
	ratios := map[string]float64{"airlock/bare": 1.5, "airlock/peer": 4}
	for _, test := range []struct {
		budget  *budget
		text    string
		verdict string
	}{
		{nil, "", ""},
		{atMost(10), "≤ 10 ms", "ok"},
		{atMost(9.9), "≤ 9.9 ms", "MISS"},
		{atMostTimesBare(1.5), "≤ 1.5 × bare", "ok"},
		{atMostTimesBare(1.4), "≤ 1.4 × bare", "MISS"},
		{atLeastTimes(4, peerName), "≥ 4 × peer", "ok"},
		{atLeastTimes(4.1, peerName), "≥ 4.1 × peer", "MISS"},
		{atLeastTimes(1, "nobody"), "≥ 1 × nobody", ""},
	} {
		if got := test.budget.text("ms"); got != test.text {
			t.Errorf("text %q, want %q", got, test.text)
		}
		if got := test.budget.judge(medians, ratios); got != test.verdict {
			t.Errorf("%s: verdict %q, want %q", test.text, got, test.verdict)
		}
	}
	if got := atMost(10).judge(nil, nil); got != "" {
		t.Errorf("judged without a figure: %q", got)
	}
}

// Contestants take turns, one that fails is left out from then on, and what
// is not available is no failure.
func TestRunRounds(t *testing.T) {
	var turns []string
	m := measure{
		name: "m",
		bare: func(context.Context, sizes) (sample, error) {
			turns = append(turns, bareName)
			return sample{"v": 2}, nil
		},
		server: func(_ context.Context, server *target, _ sizes) (sample, error) {
			turns = append(turns, server.name)
			switch n := len(turns); {
			case server.name == peerName && n > 3:
				return nil, errors.New("gone")
			case server.name == airlockName:
				return nil, fmt.Errorf("memory: %w", errNotAvailable)
			}
			return sample{"v": 6}, nil
		},
		rows: []row{{"v", "value", "ms", nil}},
	}
	res := newResults([]measure{m})
	failures := runRounds(t.Context(), res, []measure{m}, []*target{{name: peerName}, {name: airlockName}}, quick, 3, io.Discard)
	res.finish()

	if got := strings.Join(turns, " "); got != "bare peer airlock bare peer bare" {
		t.Errorf("turns: %s", got)
	}
	if want := "peer: m, round 2: gone"; len(failures) != 1 || failures[0] != want {
		t.Errorf("failures: %q", failures)
	}
	if got := fmt.Sprint(res.rows[0].Rounds, res.rows[0].Ratios); got != "map[bare:[2 2 2] peer:[6]] map[peer/bare:3]" {
		t.Errorf("results: %s", got)
	}
}

func TestSelectMeasures(t *testing.T) {
	selected, err := selectMeasures("status,spawn")
	if err != nil || len(selected) != 2 || selected[0].name != "status" || selected[1].name != "spawn" {
		t.Errorf("got %v, %v", selected, err)
	}
	if all, err := selectMeasures(""); err != nil || len(all) != len(measures) {
		t.Errorf("got %d measures, %v", len(all), err)
	}
	if _, err := selectMeasures("spwan"); err == nil || !strings.Contains(err.Error(), "spawn") {
		t.Errorf("the error %v does not list the names", err)
	}
}

func TestFormatNumber(t *testing.T) {
	for v, want := range map[float64]string{315.1: "315", 43.04: "43.0", -12.04: "-12.0", 2.5: "2.50", 0.0231: "0.023"} {
		if got := formatNumber(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
