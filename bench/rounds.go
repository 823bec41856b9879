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

// fewRounds are done however long they take.
const fewRounds = 3

// runRounds fills res and returns what failed. A contestant that fails a
// measure is left out of that measure from then on, so that one defect costs
// neither the other figures nor a timeout in every round.
func runRounds(ctx context.Context, res *results, selected []measure, targets []*target, size sizes, log io.Writer) []string {
	var failures []string
	skip := map[string]bool{}
	attempt := func(round int, m measure, who string, f func(context.Context) (sample, error)) {
		key := m.name + "/" + who
		if ctx.Err() != nil || skip[key] {
			return
		}
		s, err := bounded(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			skip[key] = true
			why, failed := reason(err)
			res.miss(m, who, why)
			if failed {
				failure := fmt.Sprintf("%s: %s, round %d: %v", who, m.name, round, err)
				failures = append(failures, failure)
				fmt.Fprintln(log, "FAILED", failure)
			} else {
				fmt.Fprintf(log, "%s: %s: %s\n", who, m.name, why)
			}
			return
		}
		res.add(m, who, s)
		fmt.Fprintf(log, "round %d/%d  %-15s %-8s %s\n", round, size.rounds, m.name, who, m.describe(s))
	}
	began := time.Now()
	for round := 1; round <= size.rounds && ctx.Err() == nil; round++ {
		if size.limit > 0 && round > fewRounds && time.Since(began) > size.limit {
			fmt.Fprintf(log, "%v are over: no more rounds\n", size.limit)
			break
		}
		res.rounds = round
		for _, m := range selected {
			for range size.turnsOf(m) {
				if m.bare != nil {
					attempt(round, m, bareName, func(ctx context.Context) (sample, error) { return m.bare(ctx, size) })
				}
				for _, t := range targets {
					attempt(round, m, t.name, func(ctx context.Context) (sample, error) { return m.server(ctx, t, size) })
				}
			}
		}
	}
	return failures
}

// reason says why there is no figure. The table shows what is before the colon.
// That a server does not have what was asked of it, or a machine what it takes,
// is no failure.
func reason(err error) (why string, failed bool) {
	if answer, ok := errors.AsType[*answerError](err); ok && answer.notBuilt() {
		return "not built: " + answer.Error(), false
	}
	if errors.Is(err, errNotAvailable) {
		return notAvailable + ": " + err.Error(), false
	}
	return "failed: " + err.Error(), true
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
