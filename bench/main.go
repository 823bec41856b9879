// Command bench measures exec-servers side by side: Airlock, the peer named
// by CODEX_BIN, and "bare", a loop of fork, exec, pipes and wait in this very
// program, which is the floor a server can come near but not beat.
//
//	go run ./bench                          # everything, some ten minutes
//	go run ./bench --quick                  # smaller sizes, under a minute
//	go run ./bench --only spawn,stream-head # some measures
//
// In every round each measure runs on each contestant in turn, so that a
// change in the machine's mood falls on all of them. Figures are medians over
// the rounds. A ratio is taken within each round, and the median of those is
// shown.
//
// The program speaks the wire itself and imports nothing of Airlock: every
// server meets the same client, and a defect of ours cannot hide in code
// shared by both ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	airlock string
	rounds  int
	only    string
	json    string
	quick   bool
	check   bool
}

func main() {
	var o options
	flag.StringVar(&o.airlock, "airlock", "", "command that starts Airlock, such as \"./airlock serve\" (default: build ./cmd/airlock)")
	flag.IntVar(&o.rounds, "rounds", 0, "rounds over all contestants (default 5; 2 with --quick)")
	flag.StringVar(&o.only, "only", "", "comma-separated measures to run: "+strings.Join(measureNames(), ", "))
	flag.StringVar(&o.json, "json", "", "also write every figure to this file")
	flag.BoolVar(&o.quick, "quick", false, "smaller sizes and fewer runs, for a first look")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 when Airlock misses a budget")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run does everything main promises. Results go to out, progress to log.
func run(ctx context.Context, o options, out, log io.Writer) error {
	selected, err := selectMeasures(o.only)
	if err != nil {
		return err
	}
	size := full
	if o.quick {
		size = quick
	}
	rounds := size.rounds
	if o.rounds > 0 {
		rounds = o.rounds
	}

	targets, cleanUp, err := findTargets(ctx, o.airlock, log)
	defer cleanUp()
	if err != nil {
		return err
	}
	if o.check && !hasTarget(targets, airlockName) {
		return errors.New("--check needs Airlock, which is not built")
	}
	for _, t := range targets {
		if err := warmUp(ctx, t); err != nil {
			return fmt.Errorf("%s: first start: %w", t.name, err)
		}
	}

	res := newResults(selected)
	failures := runRounds(ctx, res, selected, targets, size, rounds, log)
	res.finish()
	printTable(out, res, rounds, o.quick)
	if o.json != "" {
		if err := writeJSON(o.json, res, failures, rounds, o.quick); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; the table holds the rounds done until then")
	}
	if len(failures) > 0 {
		return fmt.Errorf("failed measures: %d", len(failures))
	}
	if n := res.misses(); o.check && n > 0 {
		return fmt.Errorf("missed budgets: %d", n)
	}
	return nil
}
