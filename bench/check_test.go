package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Three measures: less is better, more is better, and one that has no floor.
var checkMeasures = []measure{
	{"spawn", nil, noBare, []row{{key: "p50", unit: "ms"}, {key: "p99", unit: "ms", unsteady: true}}},
	{"parallel", nil, noBare, []row{{key: "rate", unit: "/s"}}},
	{"status", nil, nil, []row{{key: "p50", unit: "ms"}}},
}

func noBare(context.Context, sizes) (sample, error) { return nil, errNotAvailable }

// measured makes results in which bare spawns in 1 ms, and 1000 a second. The
// values are Airlock's, of one round each.
func measured(selected []measure, spawn, rate float64) *results {
	res := newResults(selected, []*target{{name: airlockName}})
	for _, m := range selected {
		switch m.name {
		case "spawn":
			res.add(m, bareName, sample{"p50": 1, "p99": 1})
			res.add(m, airlockName, sample{"p50": spawn, "p99": 50 * spawn})
		case "parallel":
			res.add(m, bareName, sample{"rate": 1000})
			res.add(m, airlockName, sample{"rate": rate})
		case "status":
			res.add(m, airlockName, sample{"p50": 1})
		}
	}
	res.finish()
	return res
}

// testBaseline is what ten quiet trials give.
func testBaseline() *baseline {
	trials := slices.Repeat([]*results{measured(checkMeasures, 2, 800)}, 10)
	return newBaseline(trials, machine{}, time.Time{})
}

func statuses(verdicts []verdict) string {
	var all []string
	for _, v := range verdicts {
		all = append(all, fmt.Sprintf("%s/%s %s", v.Measure, v.Row, v.Status))
	}
	return strings.Join(all, ", ")
}

func TestCompare(t *testing.T) {
	b := testBaseline()
	for _, test := range []struct {
		name        string
		spawn, rate float64
		want        string
		fails       bool
	}{
		{"equal", 2, 800, "spawn/p50 ok, parallel/rate ok", false},
		{"within the tolerance", 2.2, 720, "spawn/p50 ok, parallel/rate ok", false},
		{"half as long again", 3, 800, "spawn/p50 worse, parallel/rate ok", true},
		{"two thirds of the rate", 2, 533, "spawn/p50 ok, parallel/rate worse", true},
		{"far better", 1.2, 1100, "spawn/p50 better, parallel/rate better", false},
		{"a rate is gone", 2, 0, "spawn/p50 ok, parallel/rate missing", true},
	} {
		verdicts := compare(b, measured(checkMeasures, test.spawn, test.rate))
		if got := statuses(verdicts); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if fails := slices.ContainsFunc(verdicts, verdict.failed); fails != test.fails {
			t.Errorf("%s: fails: %v", test.name, fails)
		}
	}
	// Only what was selected is compared.
	if got := statuses(compare(b, measured(checkMeasures[1:], 0, 800))); got != "parallel/rate ok" {
		t.Errorf("one measure: %s", got)
	}
}

// It is the ratio that counts: a slow machine is no regression.
func TestCompareSlowMachine(t *testing.T) {
	res := newResults(checkMeasures[:1], []*target{{name: airlockName}})
	for range 3 {
		res.add(checkMeasures[0], bareName, sample{"p50": 10})
		res.add(checkMeasures[0], airlockName, sample{"p50": 20})
	}
	res.finish()
	if got := statuses(compare(testBaseline(), res)); got != "spawn/p50 ok" {
		t.Error(got)
	}
}

// While others use the machine timings are not called worse; what is missing, and
// what is fine, is called so all the same.
func TestCompareCrowded(t *testing.T) {
	b := testBaseline()
	res := measured(checkMeasures, 9, 800)
	res.othersShare = crowdedShare + 0.01
	first := compare(b, res)
	if got := statuses(first); got != "spawn/p50 unsure, parallel/rate ok" || slices.ContainsFunc(first, verdict.failed) {
		t.Error(got)
	}
	if again := suspects(first, checkMeasures); len(again) != 1 {
		t.Errorf("to measure again: %v", again)
	}
	if got := statuses(reconsider(first, compare(b, measured(checkMeasures[:1], 9, 0)))); got != "spawn/p50 worse, parallel/rate ok" {
		t.Errorf("when it is quiet again: %s", got)
	}
	res = measured(checkMeasures, 2, 0)
	res.othersShare = 1
	if got := statuses(compare(b, res)); got != "spawn/p50 ok, parallel/rate missing" {
		t.Error(got)
	}
	for unit, want := range map[string]bool{"ms": true, "/s": true, "MiB/s": true, "MB": false, "KB": false} {
		if isTiming(unit) != want {
			t.Errorf("%s: not %v", unit, want)
		}
	}
}

func TestOthersShare(t *testing.T) {
	before := usage{total: 10 * time.Second, busy: 5 * time.Second, own: time.Second}
	for _, test := range []struct {
		after usage
		want  float64
	}{
		{usage{20 * time.Second, 11 * time.Second, 3 * time.Second}, 0.4},
		{usage{20 * time.Second, 7 * time.Second, 3 * time.Second}, 0},
		{usage{20 * time.Second, 7 * time.Second, 4 * time.Second}, 0}, // read a little later
		{before, 0},
	} {
		if got := othersShare(before, test.after); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: got %v, want %v", test.after, got, test.want)
		}
	}
}

// What looks worse is measured again, and only what is worse again fails.
func TestReconsider(t *testing.T) {
	b := testBaseline()
	first := compare(b, measured(checkMeasures, 4, 800))
	again := suspects(first, checkMeasures)
	if len(again) != 1 || again[0].name != "spawn" {
		t.Fatalf("suspects: %v", again)
	}
	for spawn, want := range map[float64]string{
		2: "spawn/p50 ok, parallel/rate ok",
		4: "spawn/p50 worse, parallel/rate ok",
	} {
		final := reconsider(first, compare(b, measured(again, spawn, 0)))
		if got := statuses(final); got != want {
			t.Errorf("again %v: got %s, want %s", spawn, got, want)
		}
		if final[0].First != 4 || final[1].First != 0 {
			t.Errorf("again %v: first ratios %v and %v", spawn, final[0].First, final[1].First)
		}
	}
	// A repetition that finds nothing leaves no doubt in favour of the accused.
	if got := statuses(reconsider(first, nil)); !strings.HasPrefix(got, "spawn/p50 worse") {
		t.Errorf("no repetition: %s", got)
	}
	if again := suspects(compare(b, measured(checkMeasures, 2, 0)), checkMeasures); len(again) != 0 {
		t.Errorf("what is missing was to be measured again: %v", again)
	}
}

func TestTolerate(t *testing.T) {
	// Two trials off by a factor either way have that factor's logarithm, times
	// the square root of 8/7, as their deviation when there are four of each.
	noisy := func(factor float64) []float64 {
		return slices.Repeat([]float64{2 * factor, 2 / factor}, 4)
	}
	for _, test := range []struct {
		name                    string
		trials                  []float64
		ratio, noise, tolerance float64
		steady                  bool
	}{
		{"still", []float64{2, 2, 2, 2, 2}, 2, 0, minTolerance, true},
		{"a little", noisy(1.01), 2.0001, 0.01064, minTolerance, true},
		{"some", noisy(1.07), 2.0046, 0.07231, 1.335, true},
		{"too much", noisy(1.1), 2.0091, 0.10189, 1.503, false},
	} {
		ratio, noise, tolerance, steady := tolerate(test.trials)
		for what, pair := range map[string][2]float64{
			"ratio": {ratio, test.ratio}, "noise": {noise, test.noise}, "tolerance": {tolerance, test.tolerance},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-3 {
				t.Errorf("%s: %s %v, want %v", test.name, what, pair[0], pair[1])
			}
		}
		if steady != test.steady {
			t.Errorf("%s: steady: %v", test.name, steady)
		}
	}
}

// A baseline holds what has a floor and is steady, and says what is not.
func TestNewBaseline(t *testing.T) {
	var trials []*results
	for n := range 10 {
		trials = append(trials, measured(checkMeasures, 2+float64(n%2), 800))
	}
	b := newBaseline(trials, machine{}, time.Time{})
	if len(b.Rows) != 1 || b.Rows[0].Measure != "parallel" || b.Rows[0].Ratio != 0.8 || b.Rows[0].Better != "more" {
		t.Errorf("rows: %+v", b.Rows)
	}
	if len(b.LeftOut) != 1 || b.LeftOut[0].Measure != "spawn" || b.LeftOut[0].Row != "p50" {
		t.Errorf("left out: %+v", b.LeftOut)
	}
	// A row that one trial has not is no part of it.
	trials[3] = measured(checkMeasures, 2, 0)
	if b := newBaseline(trials, machine{}, time.Time{}); len(b.Rows) != 0 {
		t.Errorf("rows: %+v", b.Rows)
	}
}

func TestReadBaseline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.json")
	want := testBaseline()
	if err := writeJSON(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := readBaseline(path)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}

	for say, change := range map[string]func(*baseline){
		"version is 2":         func(b *baseline) { b.Version = 2 },
		"no rows":              func(b *baseline) { b.Rows = nil },
		`better is "faster"`:   func(b *baseline) { b.Rows[0].Better = "faster" },
		"ratio 0":              func(b *baseline) { b.Rows[1].Ratio = 0 },
		"tolerance 100 is out": func(b *baseline) { b.Rows[0].Tolerance = 100 },
	} {
		b := testBaseline()
		change(b)
		if err := writeJSON(path, b); err != nil {
			t.Fatal(err)
		}
		if _, err := readBaseline(path); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("want an error that says %q, got %v", say, err)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readBaseline(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("not JSON: %v", err)
	}
}

// The baseline that CI compares with can be read, and has rows of measures that
// there are. It holds nothing that depends on how fast a machine is.
func TestCheckedInBaseline(t *testing.T) {
	b, err := readBaseline("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range append(slices.Clone(b.Rows), b.LeftOut...) {
		r := newResults(measures, nil).find(base.Measure, base.Row)
		if r == nil || !r.checked() || r.Better != base.Better {
			t.Errorf("%s/%s is no row that can be checked", base.Measure, base.Row)
		}
	}
	text, err := os.ReadFile("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Rows []map[string]any `json:"rows"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw.Rows {
		for key := range r {
			if !slices.Contains([]string{"measure", "row", "better", "ratio", "noise", "tolerance"}, key) {
				t.Errorf("%v/%v has %q", r["measure"], r["row"], key)
			}
		}
	}
}
