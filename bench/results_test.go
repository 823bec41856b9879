package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
		{atMostTimes(1.5, bareName), "≤ 1.5 × bare", "ok"},
		{atMostTimes(1.4, bareName), "≤ 1.4 × bare", "MISS"},
		{atLeastTimes(4, peerName), "≥ 4 × peer", "ok"},
		{atLeastTimes(4.1, peerName), "≥ 4.1 × peer", "MISS"},
		{atLeastTimes(1, "nobody"), "≥ 1 × nobody", ""},
	} {
		if got := test.budget.text("ms"); got != test.text {
			t.Errorf("text %q, want %q", got, test.text)
		}
		result := test.budget.result("ms")
		if met, ok := test.budget.judge(medians, ratios); ok {
			result.Met = &met
		}
		if got := result.verdict(); got != test.verdict {
			t.Errorf("%s: verdict %q, want %q", test.text, got, test.verdict)
		}
	}
	if met, ok := atMost(10).judge(nil, nil); ok {
		t.Errorf("judged without a figure: %v", met)
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
		rows: []row{{key: "v", title: "value", unit: "ms"}},
	}
	targets := []*target{{name: peerName}, {name: airlockName}}
	res := newResults([]measure{m}, targets)
	size := quick
	size.rounds = 3
	failures := runRounds(t.Context(), res, []measure{m}, targets, size, io.Discard)
	res.finish()

	if got := strings.Join(turns, " "); got != "bare peer airlock bare peer bare" {
		t.Errorf("turns: %s", got)
	}
	if want := "peer: m, round 2: gone"; len(failures) != 1 || failures[0] != want {
		t.Errorf("failures: %q", failures)
	}
	r := res.rows[0]
	if got := fmt.Sprint(r.rounds(bareName), r.rounds(peerName), r.Figures[peerName].RatiosToBare, r.Ratios); got != "[2 2 2] [6] [3] map[peer/bare:3]" {
		t.Errorf("results: %s", got)
	}
	for who, want := range map[string]string{bareName: "2.00", peerName: "6.00", airlockName: "n/a"} {
		if got := r.cell(who); got != want {
			t.Errorf("%s: cell %q, want %q", who, got, want)
		}
	}
	if got := fmt.Sprint(r.Missing); got != "map[airlock:n/a: memory: not available here peer:failed: gone]" {
		t.Errorf("missing: %s", got)
	}
}

// A server that does not offer what is measured has not failed, and the table
// says so; so it does where there can be no floor.
func TestNotBuiltCell(t *testing.T) {
	m := measure{
		name: "m",
		server: func(context.Context, *target, sizes) (sample, error) {
			_, err := parseEvent([]byte(`{"error":{"code":-32601,"message":"no fs/walk"},"id":3}`))
			return nil, fmt.Errorf("fs/walk: %w\nits stderr ends: x", err)
		},
		rows: []row{{key: "v", title: "value", unit: "ms", budget: atMost(1)}},
	}
	targets := []*target{{name: airlockName}}
	res := newResults([]measure{m}, targets)
	failures := runRounds(t.Context(), res, []measure{m}, targets, quick, io.Discard)
	res.finish()
	if len(failures) > 0 || res.misses() != 0 {
		t.Errorf("failures %q, misses %d", failures, res.misses())
	}
	var table strings.Builder
	printTable(&table, res, machine{OS: "linux", Arch: "amd64", Cores: 2}, full)
	want := []string{"value", "ms", noFigure, "not built", noFigure, "≤ 1 ms"}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	got := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(lines[len(lines)-1]), -1)
	if !slices.Equal(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	if strings.Contains(table.String(), peerName) {
		t.Error("the table has columns of a contestant that was not there")
	}
}

// A measure that takes several turns in a round has as many figures, and those of
// one turn are compared with each other.
func TestTurns(t *testing.T) {
	turn := 0.0
	m := measure{
		name:   "m",
		bare:   func(context.Context, sizes) (sample, error) { turn++; return sample{"v": turn}, nil },
		server: func(context.Context, *target, sizes) (sample, error) { return sample{"v": 3 * turn}, nil },
		rows:   []row{{key: "v", unit: "ms"}},
	}
	targets := []*target{{name: airlockName}}
	res := newResults([]measure{m}, targets)
	runRounds(t.Context(), res, []measure{m}, targets, sizes{rounds: 2, turns: map[string]int{"m": 2, "other": 5}}, io.Discard)
	res.finish()
	if got := fmt.Sprint(res.rows[0].rounds(bareName), res.rows[0].Figures[airlockName].RatiosToBare); got != "[1 2 3 4] [3 3 3 3]" {
		t.Error(got)
	}
	for name := range check.turns {
		if _, err := selectMeasures(name); err != nil {
			t.Errorf("turns of %v", err)
		}
	}
}

// When the time is over no round begins, but a few are needed whatever they take.
func TestLimit(t *testing.T) {
	m := measure{
		name:   "m",
		server: func(context.Context, *target, sizes) (sample, error) { return sample{"v": 1}, nil },
		rows:   []row{{key: "v", unit: "ms"}},
	}
	targets := []*target{{name: airlockName}}
	for limit, want := range map[time.Duration]int{1: fewRounds, time.Hour: 9, 0: 9} {
		res := newResults([]measure{m}, targets)
		runRounds(t.Context(), res, []measure{m}, targets, sizes{rounds: 9, limit: limit}, io.Discard)
		if got := len(res.rows[0].rounds(airlockName)); got != want || res.rounds != want {
			t.Errorf("limit %v: %d rounds, said to be %d, want %d", limit, got, res.rounds, want)
		}
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
