package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Decimal units, as the design's budgets are given.
const (
	kilobyte = 1e3
	megabyte = 1e6
)

// binarySize is the size of the server's program file.
func binarySize(_ context.Context, t *target, _ sizes) (sample, error) {
	path, err := exec.LookPath(t.argv[0])
	if err != nil {
		return nil, fmt.Errorf("finding its program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return sample{"size": float64(info.Size()) / megabyte}, nil
}

// bareBinarySize is the size of the least Go program.
func bareBinarySize(ctx context.Context, n sizes) (sample, error) {
	hello, err := n.fixtures.buildHello(ctx)
	if err != nil {
		return nil, err
	}
	return binarySize(ctx, hello, n)
}

// startUp is the time from the fork until the URL line has been read.
func startUp(ctx context.Context, t *target, n sizes) (sample, error) {
	var took []float64
	for range n.starts {
		srv, err := t.start(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, milliseconds(srv.startup))
		srv.stop()
	}
	return sample{"p50": median(took)}, nil
}

// bareStartUp is the same of the least Go program.
func bareStartUp(ctx context.Context, n sizes) (sample, error) {
	hello, err := n.fixtures.buildHello(ctx)
	if err != nil {
		return nil, err
	}
	return startUp(ctx, hello, n)
}

// idleMemory is the resident memory of a server with one quiet connection,
// and then, after it has run one process, of the server with every helper it
// keeps: memory moved to a helper is not memory saved. Pages that a helper
// shares with the server count twice.
func idleMemory(ctx context.Context, t *target, n sizes) (sample, error) {
	s := sample{}
	err := t.withClient(ctx, nil, func(c *client, srv *instance) error {
		if err := rest(ctx, n.settle); err != nil {
			return err
		}
		server, err := residentBytes(srv.cmd.Process.Pid)
		if err != nil {
			return err
		}
		if err := c.run(trueArgv, false); err != nil {
			return err
		}
		if err := rest(ctx, n.settle); err != nil {
			return err
		}
		tree, err := treeResidentBytes(srv.cmd.Process.Pid)
		s["server"], s["tree"] = server/megabyte, tree/megabyte
		return err
	})
	return s, err
}

// bareIdleMemory is what the least Go program takes, which has no helper.
func bareIdleMemory(ctx context.Context, n sizes) (sample, error) {
	hello, err := n.fixtures.buildHello(ctx)
	if err != nil {
		return nil, err
	}
	running, err := hello.start(ctx)
	if err != nil {
		return nil, err
	}
	defer running.stop()
	if err := rest(ctx, n.settle); err != nil {
		return nil, err
	}
	bytes, err := residentBytes(running.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return sample{"server": bytes / megabyte, "tree": bytes / megabyte}, nil
}

// statusRoundTrip is the cheapest request there is.
func statusRoundTrip(ctx context.Context, t *target, n sizes) (s sample, err error) {
	err = t.withClient(ctx, nil, func(c *client, _ *instance) (err error) {
		s, err = timeEach(n.roundTrips, func() error { return c.call("environment/status", nil) })
		return err
	})
	return s, err
}

// rest waits, or returns early with an error when ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
