// Command bench measures exec-servers side by side: Airlock, the peer named
// by CODEX_BIN, and "bare", the floor that a server can come near but not beat: a
// loop of fork, exec, pipes and wait in this very program and, where that is no
// likeness, the least program or server in Go, bwrap, or a bare clone.
//
//	go run ./bench                                  # everything, some ten minutes
//	go run ./bench --quick                          # smaller sizes, about a minute
//	go run ./bench --only spawn,stream-head         # some measures
//	go run ./bench --json report.json               # the figures, as report.schema.json describes them
//	go run ./bench --against bench/baseline.json    # has it become slower?
//	go run ./bench --write-baseline bench/baseline.json
//
// In every round each measure runs on each contestant in turn, so that a
// change in the machine's mood falls on all of them. Figures are medians over
// the rounds. A ratio is taken within each round, and the median of those is
// shown.
//
// The regression check compares Airlock's ratios to bare with those of a
// baseline, never the figures: they say more about the machine. What looks worse
// is measured again before it is called so. The tolerance of each row comes from
// its noise over the trials that made the baseline.
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
	"time"
)

// options are the command line.
type options struct {
	airlock       string
	rounds        int
	only          string
	json          string
	quick         bool
	check         bool
	against       string
	writeBaseline string
	trials        int
}

func main() {
	var o options
	flag.StringVar(&o.airlock, "airlock", "", "command that starts Airlock, such as \"./airlock serve\" (default: build ./cmd/airlock)")
	flag.IntVar(&o.rounds, "rounds", 0, "rounds over all contestants (default 5; 2 with --quick)")
	flag.StringVar(&o.only, "only", "", "comma-separated measures to run: "+strings.Join(measureNames(), ", "))
	flag.StringVar(&o.json, "json", "", "also write every figure to this file, as report.schema.json describes it")
	flag.BoolVar(&o.quick, "quick", false, "smaller sizes and fewer runs, for a first look")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 when Airlock misses a budget")
	flag.StringVar(&o.against, "against", "", "exit with status 1 when Airlock has become slower, or larger, than this baseline says")
	flag.StringVar(&o.writeBaseline, "write-baseline", "", "write a baseline to this file, which takes some minutes")
	flag.IntVar(&o.trials, "trials", 10, "with --write-baseline: how often the check runs to find its noise")
	flag.Parse()
	err := o.verify(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err = run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// verify refuses what does not go together.
func (o options) verify(rest []string) error {
	comparing := o.against != "" || o.writeBaseline != ""
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.against != "" && o.writeBaseline != "":
		return errors.New("--against and --write-baseline exclude each other: compare first, then write")
	case comparing && (o.quick || o.rounds != 0):
		return errors.New("a baseline has its own sizes and rounds: leave out --quick and --rounds")
	case o.writeBaseline != "" && (o.only != "" || o.json != "" || o.check):
		return errors.New("--write-baseline takes everything and makes no report: leave out --only, --json and --check")
	case o.writeBaseline != "" && o.trials < minTrials:
		return fmt.Errorf("--trials %d: at least %d are needed to see the noise", o.trials, minTrials)
	case o.rounds < 0:
		return fmt.Errorf("--rounds %d: it must be positive", o.rounds)
	}
	return nil
}

// size is how much work is to be done.
func (o options) size() sizes {
	size := full
	switch {
	case o.against != "" || o.writeBaseline != "":
		return check
	case o.quick:
		size = quick
	}
	if o.rounds > 0 {
		size.rounds = o.rounds
	}
	return size
}

// run does everything main promises. Results go to out, progress to log.
func run(ctx context.Context, o options, out, log io.Writer) error {
	r := &runner{options: o, size: o.size(), out: out, log: log, began: time.Now().UTC(), machine: thisMachine()}
	var err error
	if r.selected, err = selectMeasures(o.only); err != nil {
		return err
	}
	if o.against != "" {
		if r.baseline, err = readBaseline(o.against); err != nil {
			return err
		}
	}
	if r.size.fixtures, err = newFixtures(); err != nil {
		return err
	}
	defer func() {
		if err := r.size.fixtures.remove(); err != nil {
			fmt.Fprintln(log, "bench: cleaning up:", err)
		}
	}()
	withPeer := o.against == "" && o.writeBaseline == "" // these do not look at it
	targets, cleanUp, err := findTargets(ctx, o.airlock, withPeer, log)
	defer cleanUp()
	if err != nil {
		return err
	}
	if (o.check || !withPeer) && !hasTarget(targets, airlockName) {
		return errors.New("nothing to check: Airlock is not built (run from the repository's root, or pass --airlock)")
	}
	for _, t := range targets {
		if err := warmUp(ctx, t); err != nil {
			return fmt.Errorf("%s: first start: %w", t.name, err)
		}
	}
	r.targets = targets
	if o.writeBaseline != "" {
		return r.takeBaseline(ctx)
	}
	return r.report(ctx)
}
