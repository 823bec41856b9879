package main

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// stalledMiB is what a command prints for a client that does not read.
const stalledMiB = 500

// stalledFor is how long the other client is watched: long enough for a server
// that lets the command run on to see it end.
const stalledFor = 4 * time.Second

// besideStalled times the round trips of one client, alone and then while
// another one does not read what its command prints, and the memory that takes.
func besideStalled(ctx context.Context, t *target, _ sizes) (sample, error) {
	s := sample{}
	err := t.withClient(ctx, nil, func(other *client, srv *instance) error {
		alone, err := roundTripsFor(ctx, other)
		if err != nil {
			return err
		}
		reset := resetPeak(srv.cmd.Process.Pid)
		stalled, err := dial(ctx, srv.url)
		if err != nil {
			return err
		}
		defer stalled.close()
		argv := []string{"head", "-c", strconv.Itoa(stalledMiB * mebibyte), "/dev/zero"}
		if _, err := stalled.launch(argv, false); err != nil {
			return err
		}
		beside, err := roundTripsFor(ctx, other)
		if err != nil {
			return err
		}
		s["alone"], s["beside"] = alone, beside
		peak, err := peakBytes(srv.cmd.Process.Pid)
		switch err := errors.Join(reset, err); {
		case errors.Is(err, errNotAvailable):
			return nil
		case err != nil:
			return err
		}
		s["peak"] = peak / megabyte
		return nil
	})
	return s, err
}

// roundTripsFor returns the 99th percentile of the round trips in a while, in
// milliseconds. There is a pause after each, so that none waits for the one
// before.
func roundTripsFor(ctx context.Context, c *client) (float64, error) {
	var took []float64
	for end := time.Now().Add(stalledFor); time.Now().Before(end); {
		begin := time.Now()
		if err := c.call("environment/status", nil); err != nil {
			return 0, err
		}
		took = append(took, milliseconds(time.Since(begin)))
		if err := rest(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return percentile(took, 0.99), nil
}
