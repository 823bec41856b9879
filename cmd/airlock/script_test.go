package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this test's binary be the command airlock, to scripts and tests
// alike.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"airlock": main})
}

// TestScripts types what users type: see the files in test/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
