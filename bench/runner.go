package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// runner is one run of this program, with everything it needs.
type runner struct {
	options  options
	size     sizes
	selected []measure
	targets  []*target
	baseline *baseline // with --against
	machine  machine
	began    time.Time
	out, log io.Writer
}

var errInterrupted = errors.New("interrupted; the table holds the rounds done until then")

// measure runs all rounds of the measures.
func (r *runner) measure(ctx context.Context, selected []measure) (res *results, failures []string) {
	res = newResults(selected, r.targets)
	before, errBefore := readUsage()
	failures = runRounds(ctx, res, selected, r.targets, r.size, r.log)
	if after, err := readUsage(); err == nil && errBefore == nil {
		res.othersShare = othersShare(before, after)
	}
	res.finish()
	return res, failures
}

// report measures, shows what was found, writes it down, and says whether that
// is as it should be.
func (r *runner) report(ctx context.Context) error {
	if r.baseline != nil {
		r.selected = slices.DeleteFunc(slices.Clone(r.selected), func(m measure) bool { return !r.baseline.has(m) })
		if len(r.selected) == 0 {
			return errors.New("the baseline has none of the measures selected")
		}
		if r.baseline.Machine.Cores != r.machine.Cores {
			fmt.Fprintf(r.log, "the baseline was taken with %d cores, here are %d: expect other ratios\n",
				r.baseline.Machine.Cores, r.machine.Cores)
		}
	}
	res, failures := r.measure(ctx, r.selected)
	printTable(r.out, res, r.machine, r.size)
	var verdicts []verdict
	if r.baseline != nil && ctx.Err() == nil {
		verdicts = compare(r.baseline, res)
		if again := suspects(verdicts, r.selected); len(again) > 0 {
			fmt.Fprintf(r.log, "measuring again what looks worse: %d\n", len(again))
			second, more := r.measure(ctx, again)
			verdicts = reconsider(verdicts, compare(r.baseline, second))
			failures = append(failures, more...)
		}
		printVerdicts(r.out, verdicts)
	}
	if r.options.json != "" {
		if err := writeJSON(r.options.json, report{
			reportVersion, r.began, r.machine, r.size.name, res.rounds, res.othersShare, res.contestants, res.rows, failures, verdicts,
		}); err != nil {
			return err
		}
	}
	worse, unsure := 0, 0
	for _, v := range verdicts {
		switch {
		case v.failed():
			worse++
		case v.Status == statusUnsure:
			unsure++
		}
	}
	if unsure > 0 {
		fmt.Fprintf(r.out, "\nnot judged: %d; others used more than %.0f %% of the machine, run it again when it is quiet\n",
			unsure, 100*crowdedShare)
	}
	switch n := res.misses(); {
	case ctx.Err() != nil:
		return errInterrupted
	case len(failures) > 0:
		return fmt.Errorf("failed measures: %d", len(failures))
	case worse > 0:
		return fmt.Errorf("worse than the baseline, or missing: %d; if that is intended, --write-baseline makes a new one", worse)
	case r.options.check && n > 0:
		return fmt.Errorf("missed budgets: %d", n)
	}
	return nil
}

// takeBaseline runs the check a number of times and writes down what is usual.
func (r *runner) takeBaseline(ctx context.Context) error {
	selected := slices.DeleteFunc(slices.Clone(r.selected), func(m measure) bool { return m.bare == nil })
	var trials []*results
	for n := 0; len(trials) < r.options.trials; n++ {
		if n == 3*r.options.trials {
			return fmt.Errorf("others used more than %.0f %% of the machine too often: no baseline has been written", 100*crowdedShare)
		}
		fmt.Fprintf(r.log, "trial %d of %d\n", len(trials)+1, r.options.trials)
		res, failures := r.measure(ctx, selected)
		if ctx.Err() != nil {
			return errors.New("interrupted; no baseline has been written")
		}
		if len(failures) > 0 {
			return fmt.Errorf("failed measures: %d; no baseline has been written", len(failures))
		}
		if res.othersShare > crowdedShare {
			fmt.Fprintf(r.log, "this trial does not count: others used %.0f %% of the machine\n", 100*res.othersShare)
			continue
		}
		fmt.Fprintf(r.log, "others used %.0f %% of the machine\n", 100*res.othersShare)
		trials = append(trials, res)
		selected = slices.DeleteFunc(selected, func(m measure) bool { return !res.compared(m) })
	}
	b := newBaseline(trials, r.machine, r.began)
	if err := b.verify(); err != nil {
		return fmt.Errorf("no baseline has been written: %w", err)
	}
	b.print(r.out)
	return writeJSON(r.options.writeBaseline, b)
}
