package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// measureTimeout bounds one measure on one contestant. The slowest seen, 500
// echoes at 44 ms, takes 22 s on a quiet machine.
const measureTimeout = 3 * time.Minute

// runRounds fills res and returns what failed. A contestant that fails a
// measure is left out of that measure from then on, so that one defect costs
// neither the other figures nor a timeout in every round.
func runRounds(ctx context.Context, res *results, selected []measure, targets []*target, size sizes, rounds int, log io.Writer) []string {
	var failures []string
	skip := map[string]bool{}
	attempt := func(round int, m measure, who string, f func(context.Context) (sample, error)) {
		key := m.name + "/" + who
		if ctx.Err() != nil || skip[key] {
			return
		}
		s, err := bounded(ctx, f)
		if errors.Is(err, errNotAvailable) || ctx.Err() != nil {
			skip[key] = true
			return
		}
		if err != nil {
			skip[key] = true
			failure := fmt.Sprintf("%s: %s, round %d: %v", who, m.name, round, err)
			failures = append(failures, failure)
			fmt.Fprintln(log, "FAILED", failure)
			return
		}
		res.add(m, who, s)
		fmt.Fprintf(log, "round %d/%d  %-15s %-8s %s\n", round, rounds, m.name, who, m.describe(s))
	}
	for round := 1; round <= rounds; round++ {
		for _, m := range selected {
			if m.bare != nil {
				attempt(round, m, bareName, func(ctx context.Context) (sample, error) { return m.bare(ctx, size) })
			}
			for _, t := range targets {
				attempt(round, m, t.name, func(ctx context.Context) (sample, error) { return m.server(ctx, t, size) })
			}
		}
	}
	return failures
}

// bounded runs f under measureTimeout, and makes a timeout the error instead
// of whatever broke because of it.
func bounded(ctx context.Context, f func(context.Context) (sample, error)) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	s, err := f(ctx)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no result within %v: %w", measureTimeout, err)
	}
	return s, err
}

// warmUp starts a server once before anything is timed. The first start of a
// large binary reads it from disk, and a server that does not work at all is
// better reported now than once per measure.
func warmUp(ctx context.Context, t *target) error {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	return t.withClient(ctx, nil, func(c *client, _ *instance) error {
		return c.run(trueArgv, false)
	})
}
