package main

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
			if name == "codex" {
				return os.Getenv(codexBin) != "", nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

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
