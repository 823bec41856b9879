package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/test/conformance"
)

// conformanceCommand is `airlock conformance`: it tests whether an executor keeps
// to the protocol, with the cases of test/conformance.
type conformanceCommand struct {
	URL       string   `name:"url" placeholder:"URL" help:"Test the executor at this ws:// or wss:// URL."`
	TokenFile string   `placeholder:"PATH" complete:"file" help:"Present the token in this file to the executor."`
	Only      string   `placeholder:"REGEXP" help:"Run only the cases whose names match this regular expression."`
	List      bool     `help:"Print the names of the cases, with their checks, and run none."`
	JSON      bool     `name:"json" help:"Print a JSON object a line: one for each case, then the summary."`
	Peer      bool     `help:"Excuse the executor from what the Codex exec-server is meant to do otherwise. This is the default for one that does not say that it is Airlock."`
	Slow      bool     `help:"Also run the cases that wait until a session or a process is forgotten."`
	TTL       duration `name:"ttl" placeholder:"TIME" default:"1m20s" help:"Say how long the executor keeps sessions and closed processes. Default: 1m20s."`
	Jobs      count    `placeholder:"N" default:"8" help:"Run this many cases side by side. Default: 8."`
	StepLimit duration `placeholder:"TIME" default:"15s" help:"Bound what one step of a case may take. Default: 15s."`
}

// maxConformanceJobs bounds the cases side by side: each has connections.
const maxConformanceJobs = 256

// Help is printed between the summary and the flags.
func (*conformanceCommand) Help() string {
	return `The exit status is 0 if all checks have passed, 1 if one has failed, or the executor can't be reached or refuses the token, and 2 if the command line makes no sense.`
}

// urlError is a URL that a better command line would mend.
type urlError struct{ error }

// Is makes it one of those of the suite.
func (urlError) Is(target error) bool { return target == conformance.ErrUsage }

// Run runs the suite. The exit status is 0 when all has passed, 1 when not, and
// 2 when the command line makes no sense.
func (c *conformanceCommand) Run(ctx *kong.Context) error {
	err := c.run(ctx.Stdout)
	if errors.Is(err, conformance.ErrUsage) {
		fmt.Fprintf(ctx.Stderr, "airlock: %v\nRun \"airlock conformance --help\" for more information.\n", err)
		return statusError(exitUsage)
	}
	return err
}

func (c *conformanceCommand) run(stdout io.Writer) error {
	suite, err := conformance.Load()
	if err != nil {
		return fmt.Errorf("the cases in this program are faulty: %w", err)
	}
	if c.List {
		return c.list(suite, stdout)
	}
	if c.URL == "" {
		return urlError{errors.New("--url is missing: it says which executor to test, as ws://HOST:PORT")}
	}
	if err := checkURL(c.URL); err != nil {
		return urlError{err}
	}
	options := conformance.Options{
		URL: c.URL, Only: c.Only, Peer: c.Peer, Slow: c.Slow, TTL: time.Duration(c.TTL),
		Jobs: c.Jobs.atMost(maxConformanceJobs), StepLimit: time.Duration(c.StepLimit),
	}
	if c.TokenFile != "" {
		token, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		options.Token = string(bytes.TrimSpace(token))
	}
	var writeErr error
	options.Done = func(result conformance.Result) {
		if c.JSON {
			writeErr = errors.Join(writeErr, result.WriteJSON(stdout))
		} else {
			writeErr = errors.Join(writeErr, result.WriteText(stdout))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := suite.Run(ctx, options)
	if err != nil {
		return tokenHint(err, c.TokenFile)
	}
	if c.JSON {
		err = report.WriteJSON(stdout)
	} else {
		err = report.WriteText(stdout)
	}
	if err := errors.Join(writeErr, err); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if !report.OK() {
		return statusError(exitFailure)
	}
	return nil
}

// list prints what there is.
func (c *conformanceCommand) list(suite *conformance.Suite, stdout io.Writer) error {
	cases, err := suite.Select(c.Only)
	if err != nil {
		return err
	}
	for _, one := range cases {
		if err := one.WriteList(stdout, c.JSON); err != nil {
			return err
		}
	}
	return nil
}
