package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// findTargets returns the servers that are there to be measured, with the peer or
// without, and says on log which are not. cleanUp removes what was made for them; it is never nil.
func findTargets(ctx context.Context, airlock string, withPeer bool, log io.Writer) (targets []*target, cleanUp func(), err error) {
	var dirs []string
	cleanUp = func() {
		for _, dir := range dirs {
			if err := os.RemoveAll(dir); err != nil {
				fmt.Fprintln(log, "bench: cleaning up:", err)
			}
		}
	}

	if program := os.Getenv("CODEX_BIN"); !withPeer {
		// Nobody has asked for it.
	} else if program == "" {
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
		if err := build(ctx, dir, program); err != nil {
			return nil, cleanUp, err
		}
		argv = []string{program, "serve"}
	}
	return append(targets, &target{airlockName, argv, nil}), cleanUp, nil
}

// build builds Airlock the way it is released: its size is one of the measures,
// and with its helper embedded it takes less memory. The helper is laid over the
// place where it is looked for, so that the source tree stays as it is.
func build(ctx context.Context, dir, program string) error {
	helper, overlay := filepath.Join(dir, "airlock-helper"), filepath.Join(dir, "overlay.json")
	if err := goBuild(ctx, "-o", helper, "./cmd/airlock-helper"); err != nil {
		return fmt.Errorf("airlock: building ./cmd/airlock-helper: %w", err)
	}
	place, err := filepath.Abs("internal/helper/embedded/airlock-helper")
	if err != nil {
		return fmt.Errorf("airlock: building ./cmd/airlock: %w", err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {place: helper}})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("airlock: building ./cmd/airlock: %w", err)
	}
	if err := goBuild(ctx, "-tags", "embedhelper", "-overlay", overlay, "-o", program, "./cmd/airlock"); err != nil {
		return fmt.Errorf("airlock: building ./cmd/airlock: %w", err)
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

// notAvailable is how the table shows errNotAvailable.
const notAvailable = "n/a"

// errNotAvailable marks a figure that cannot be had on this machine.
var errNotAvailable = errors.New("not available here")
