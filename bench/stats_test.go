package main

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, test := range []struct {
		xs   []float64
		p    float64
		want float64
	}{
		{[]float64{7}, 0.99, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{4, 1, 3, 2}, 0, 1},
		{[]float64{4, 1, 3, 2}, 1, 4},
		{hundred, 0.99, 99},
		{[]float64{0, 10}, 0.99, 9.9},
	} {
		before := slices.Clone(test.xs)
		if got := percentile(test.xs, test.p); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("percentile(%v, %v) = %v, want %v", test.xs, test.p, got, test.want)
		}
		if !slices.Equal(test.xs, before) {
			t.Errorf("percentile changed its argument to %v", test.xs)
		}
	}
}

func TestRatios(t *testing.T) {
	for _, test := range []struct {
		name       string
		a, b, want []float64
	}{
		// The second round was disturbed for both, so its ratio still counts.
		{"within rounds", []float64{2, 40, 3}, []float64{1, 20, 1}, []float64{2, 2, 3}},
		{"one has failed early", []float64{2, 9, 9}, []float64{1}, []float64{2}},
		{"zero divisor", []float64{5, 6}, []float64{0, 3}, []float64{2}},
		{"nothing in common", []float64{5}, nil, nil},
		{"only zero divisors", []float64{5}, []float64{0}, nil},
	} {
		if got := ratios(test.a, test.b); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestTimeEach(t *testing.T) {
	calls := 0
	s, err := timeEach(5, func() error { calls++; return nil })
	if err != nil || calls != warmUps+5 || s["p50"] < 0 || s["p99"] < s["p50"] {
		t.Errorf("%v, %v after %d calls", s, err, calls)
	}
	broken := errors.New("broken")
	if _, err := timeEach(5, func() error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
}
