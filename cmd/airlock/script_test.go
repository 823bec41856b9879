package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/airlock-exec/airlock/internal/doctor"
	"github.com/airlock-exec/airlock/server"
)

// TestMain lets this test's binary be the command airlock, to scripts and tests
// alike, the helper, and an HTTP server.
func TestMain(m *testing.M) {
	server.RunHelper()
	testscript.Main(m, map[string]func(){"airlock": main, "origin": origin})
}

// TestScripts types what users type: see the files in test/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(codexBin, os.Getenv(codexBin))
			return separateControl(env)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "codex":
				return os.Getenv(codexBin) != "", nil
			case "sandbox":
				return canConfine(), nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

// canConfine tells whether this host lets programs be confined by namespaces, so that
// every policy can be enforced.
var canConfine = sync.OnceValue(func() bool {
	report, err := doctor.Examine(context.Background())
	if err != nil {
		return false
	}
	for _, check := range report.Checks {
		if can, ok := check.Facts["namespaces"].(bool); ok {
			return can
		}
	}
	return false
})

// codexBin is the variable that names the Codex exec-server, if it is there.
const codexBin = "CODEX_BIN"

// separateControl gives a script a folder of its own for control sockets: there may
// be executors on this machine. Its name is short, as theirs have to be.
func separateControl(env *testscript.Env) error {
	temp := os.TempDir()
	if runtime.GOOS != "windows" {
		temp = "/tmp"
	}
	dir, err := os.MkdirTemp(temp, "al")
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(dir) })
	env.Setenv("AIRLOCK_CONTROL_DIR", dir)
	return nil
}
