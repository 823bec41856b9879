package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is an exec-server to be measured: a name and how to start it.
type target struct {
	name string
	argv []string
	env  []string // added to this program's own environment
}

// findTargets returns the servers that are there to be measured and says on
// log which are not. cleanUp removes what was made for them; it is never nil.
func findTargets(ctx context.Context, airlock string, log io.Writer) (targets []*target, cleanUp func(), err error) {
	var dirs []string
	cleanUp = func() {
		for _, dir := range dirs {
			if err := os.RemoveAll(dir); err != nil {
				fmt.Fprintln(log, "bench: cleaning up:", err)
			}
		}
	}

	if program := os.Getenv("CODEX_BIN"); program == "" {
		fmt.Fprintln(log, "peer: not measured: CODEX_BIN is not set")
	} else {
		home, err := makePeerHome()
		if err != nil {
			return nil, cleanUp, err
		}
		dirs = append(dirs, home)
		targets = append(targets, &target{peerName, []string{program, "exec-server"}, []string{"CODEX_HOME=" + home}})
	}

	argv := strings.Fields(airlock)
	if len(argv) == 0 {
		if sources, _ := filepath.Glob("cmd/airlock/*.go"); len(sources) == 0 {
			fmt.Fprintln(log, "airlock: not built: no Go files in ./cmd/airlock (run from the repository's root, or pass --airlock)")
			return targets, cleanUp, nil
		}
		dir, err := os.MkdirTemp("", "airlock-bench-")
		if err != nil {
			return nil, cleanUp, fmt.Errorf("airlock: making a directory for the binary: %w", err)
		}
		dirs = append(dirs, dir)
		program := filepath.Join(dir, "airlock")
		if err := build(ctx, program); err != nil {
			return nil, cleanUp, err
		}
		argv = []string{program, "serve"}
	}
	return append(targets, &target{airlockName, argv, nil}), cleanUp, nil
}

// build builds Airlock the way it is released, without symbols, since its size
// is one of the measures.
func build(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/airlock")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("airlock: building ./cmd/airlock: %w\n%s", err, out)
	}
	return nil
}

// makePeerHome makes a home for the peer, so that it neither reads nor changes
// the user's. It is not in the temporary directory, where the peer refuses to
// put its helpers.
func makePeerHome() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("peer: finding the home directory: %w", err)
	}
	dir, err := os.MkdirTemp(home, ".airlock-bench-")
	if err != nil {
		return "", fmt.Errorf("peer: making its home: %w", err)
	}
	return dir, nil
}

func hasTarget(targets []*target, name string) bool {
	return slices.ContainsFunc(targets, func(t *target) bool { return t.name == name })
}

// errNotAvailable marks a figure that cannot be had on this operating system.
// The table shows it as "n/a".
var errNotAvailable = errors.New("not available on this system")
