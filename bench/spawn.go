package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"time"
)

// trueArgv is the cheapest process there is.
var trueArgv = []string{"/bin/true"}

// inFlight is how many processes the parallel measure keeps going.
const inFlight = 16

// spawnPipe times one process after the other, from sending process/start
// until its answer, exited and closed have all come.
func spawnPipe(ctx context.Context, t *target, n sizes) (sample, error) {
	return spawnEach(ctx, t, n.spawns, false)
}

func spawnTTY(ctx context.Context, t *target, n sizes) (sample, error) {
	return spawnEach(ctx, t, n.spawns, true)
}

func spawnEach(ctx context.Context, t *target, n int, tty bool) (s sample, err error) {
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		s, err = timeEach(n, func() error { return c.run(trueArgv, tty) })
		return err
	})
	return s, err
}

// spawnParallel keeps 16 processes going on one connection to a server that
// may work on 16 requests at once.
func spawnParallel(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, []string{"--concurrent-requests", "16"}, func(c *client, _ *instance) error {
		if err := c.run(trueArgv, false); err != nil { // as timeEach warms up
			return err
		}
		begin := time.Now()
		launched := 0
		for finished := 0; finished < n.parallel; {
			if launched < n.parallel && launched-finished < inFlight {
				if _, err := c.launch(trueArgv, false); err != nil {
					return err
				}
				launched++
				continue
			}
			e, err := c.next()
			if err != nil {
				return err
			}
			if e.finished {
				finished++
			}
		}
		rate := perSecond(float64(n.parallel), begin)
		s = sample{"rate": rate, "least": rate}
		return nil
	})
	return s, err
}

// barePipe is the least a server has to do for a process: two pipes, fork,
// exec, read both to the end, wait. cmd has not been started.
func barePipe(cmd *exec.Cmd) error {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, errOut := io.Copy(io.Discard, stdout)
	_, errErr := io.Copy(io.Discard, stderr)
	return errors.Join(errOut, errErr, cmd.Wait())
}

func bareTrue(ctx context.Context) error { return barePipe(exec.CommandContext(ctx, trueArgv[0])) }

func bareSpawnPipe(ctx context.Context, n sizes) (sample, error) {
	return timeEach(n.spawns, func() error { return bareTrue(ctx) })
}

func bareSpawnTTY(ctx context.Context, n sizes) (sample, error) {
	return timeEach(n.spawns, func() error {
		p, err := startOnPTY(ctx, trueArgv)
		if err != nil {
			return err
		}
		return p.drain()
	})
}

// bareSpawnParallel has two floors: 16 of the bare loops at once, and the least
// server.
func bareSpawnParallel(ctx context.Context, n sizes) (sample, error) {
	begin := time.Now()
	errs := make(chan error, inFlight)
	for range inFlight {
		go func() {
			var err error
			for i := 0; i < n.parallel/inFlight && err == nil; i++ {
				err = bareTrue(ctx)
			}
			errs <- err
		}()
	}
	var err error
	for range inFlight {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return nil, err
	}
	s := sample{"rate": perSecond(float64(n.parallel/inFlight*inFlight), begin)}
	return addLeast(s, "least", func() (float64, error) { return bareRuns(ctx, n) })
}
