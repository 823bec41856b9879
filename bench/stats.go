package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the p-th quantile (0 ≤ p ≤ 1) of xs, interpolated
// linearly between the two nearest ranks. It does not change xs, which must
// not be empty.
func percentile(xs []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	rank := p * float64(len(sorted)-1)
	low := int(math.Floor(rank))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (rank-float64(low))*(sorted[high]-sorted[low])
}

func median(xs []float64) float64 { return percentile(xs, 0.5) }

// ratios returns a[i]/b[i] for the rounds both have. Comparing within a round
// cancels what disturbed the machine during it. Rounds where the divisor is not
// positive say nothing and are left out.
func ratios(a, b []float64) []float64 {
	var all []float64
	for i := range min(len(a), len(b)) {
		if b[i] > 0 {
			all = append(all, a[i]/b[i])
		}
	}
	return all
}

// warmUps is how often timesOf runs f before it looks at the clock: the first
// run in a fresh server also pays for lazily made helpers and cold caches.
const warmUps = 3

// timeEach runs f n times, one after the other, and returns the p50 and p99 of
// its duration in milliseconds.
func timeEach(n int, f func() error) (sample, error) {
	took, err := timesOf(n, f)
	if err != nil {
		return nil, err
	}
	return sample{"p50": median(took), "p99": percentile(took, 0.99)}, nil
}

// timesOf runs f n times and returns how long each took, in milliseconds.
func timesOf(n int, f func() error) ([]float64, error) {
	var took []float64
	for i := range warmUps + n {
		begin := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		if i >= warmUps {
			took = append(took, milliseconds(time.Since(begin)))
		}
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// perSecond is the rate of n things done since begin.
func perSecond(n float64, begin time.Time) float64 { return n / time.Since(begin).Seconds() }
