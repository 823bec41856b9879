package main

import (
	"os"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/airlock-exec/airlock/server"
)

// TestMain lets this test's binary be the command airlock, to scripts and tests
// alike, and the helper.
func TestMain(m *testing.M) {
	server.RunHelper()
	testscript.Main(m, map[string]func(){"airlock": main})
}

// TestScripts types what users type: see the files in test/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               separateControl,
	})
}

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
