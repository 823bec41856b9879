package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"
)

const mebibyte = 1 << 20

// headArgv and ddArgv are two programs that write zeros as fast as they can:
// head in small writes, dd in writes far larger than a pipe holds.
func headArgv(n sizes) []string {
	return []string{"head", "-c", strconv.Itoa(n.streamMiB * mebibyte), "/dev/zero"}
}

func ddArgv(n sizes) []string {
	return []string{"dd", "if=/dev/zero", "bs=1M", "count=" + strconv.Itoa(n.streamMiB)}
}

func streamHead(ctx context.Context, t *target, n sizes) (sample, error) {
	return stream(ctx, t, headArgv(n), n.streamMiB)
}

func streamDD(ctx context.Context, t *target, n sizes) (sample, error) {
	return stream(ctx, t, ddArgv(n), n.streamMiB)
}

// stream runs argv and counts its output until it is closed. Too much or too
// little output is an error: speed without the bytes is worth nothing.
func stream(ctx context.Context, t *target, argv []string, wantMiB int) (sample, error) {
	s := sample{}
	err := t.withClient(ctx, nil, func(c *client, srv *instance) error {
		reset := resetPeak(srv.cmd.Process.Pid)
		begin := time.Now()
		if _, err := c.launch(argv, false); err != nil {
			return err
		}
		received := 0
		for {
			e, err := c.next()
			if err != nil {
				return err
			}
			if e.stdout {
				received += e.chunkLen()
			}
			if e.finished {
				break
			}
		}
		if received != wantMiB*mebibyte {
			return fmt.Errorf("%s: got %d bytes of %d", argv[0], received, wantMiB*mebibyte)
		}
		s["rate"] = perSecond(float64(wantMiB), begin)
		s["relay"] = s["rate"]
		peak, err := peakBytes(srv.cmd.Process.Pid)
		switch err := errors.Join(reset, err); {
		case errors.Is(err, errNotAvailable):
			return nil // the rate is worth having alone
		case err != nil:
			return err
		}
		s["peak"] = peak / megabyte
		return nil
	})
	return s, err
}

func bareStreamHead(ctx context.Context, n sizes) (sample, error) {
	return bareStream(ctx, n, headArgv(n))
}

func bareStreamDD(ctx context.Context, n sizes) (sample, error) {
	return bareStream(ctx, n, ddArgv(n))
}

// bareStream has two floors: to read the same child's pipe, and to relay what
// comes from it.
func bareStream(ctx context.Context, n sizes, argv []string) (sample, error) {
	rate, err := barePipeRate(ctx, argv, n.streamMiB)
	if err != nil {
		return nil, err
	}
	return addLeast(sample{"rate": rate}, "relay", func() (float64, error) { return bareRelay(ctx, n, argv) })
}

// barePipeRate reads the pipe and drops what it reads.
func barePipeRate(ctx context.Context, argv []string, wantMiB int) (rate float64, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	received := 0
	buffer := make([]byte, 64<<10) // what a pipe holds
	for err == nil {
		var n int
		n, err = stdout.Read(buffer)
		received += n
	}
	if err != io.EOF {
		return 0, errors.Join(err, cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %w", argv[0], err)
	}
	if received != wantMiB*mebibyte {
		return 0, fmt.Errorf("%s: got %d bytes of %d", argv[0], received, wantMiB*mebibyte)
	}
	return perSecond(float64(wantMiB), begin), nil
}
