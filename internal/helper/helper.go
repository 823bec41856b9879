// Package helper is the program that works beside the daemon, and how the
// daemon executes it. It has three jobs. As the warden it waits for the end of the
// daemon, and removes what that leaves behind. And it executes programs for which
// something is to be done first, in the process that will be theirs: see package
// plan. And it builds what a program is confined to, executes the program in there,
// and stays with it as the first process of its namespaces.
//
// A release carries the helper as a small binary of its own (cmd/airlock-helper;
// `make build` embeds it) and executes it from memory. Every other build
// executes itself under the helper's name; [RunIfHelper] has to be the first
// thing that its main does, and nothing is executed again that does not do so:
// it would be a second daemon, or whatever else the program is.
//
// Whatever this package imports, the helper links. It starts in the way of a
// command, so that should stay little.
package helper

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Name is what the helper is called, as its argv[0].
const Name = "airlock-helper"

// ErrNoHelper means that this program contains no helper to execute.
var ErrNoHelper = errors.New("this program can't start Airlock's helper: let its main function call " +
	"server.RunHelper before anything else, or build it with -tags embedhelper")

// exitUsage is the exit status for a command line that makes no sense.
const exitUsage = 2

// isHooked is set when RunIfHelper has been called: this program knows what to
// do when it is executed under the helper's name.
var isHooked atomic.Bool

// RunIfHelper runs the helper and ends the program if that is what it has been
// executed for. Otherwise it does nothing, but from then on the program can
// serve as its own helper.
func RunIfHelper() {
	if len(os.Args) > 0 && isHelper(os.Args[0]) {
		os.Exit(Main(os.Args[1:])) //nolint:forbidigo // the rest of main is another program's
	}
	isHooked.Store(true)
}

func isHelper(arg0 string) bool {
	return strings.TrimSuffix(filepath.Base(arg0), ".exe") == Name
}

// subcommands are what Main runs.
var subcommands = map[string]func() int{
	wardenCommand:  runWarden,
	execCommand:    runExec,
	sandboxCommand: runSandbox,
	stageCommand:   runStage,
}

// Main runs a subcommand of the helper and returns the exit status.
func Main(args []string) int {
	if len(args) == 0 {
		return refuse("a subcommand is missing")
	}
	run := subcommands[args[0]]
	switch {
	case run == nil:
		return refuse("there is no subcommand " + strconv.Quote(args[0]))
	case len(args) > 1:
		return refuse(args[0] + " takes no arguments")
	}
	return run()
}

// refuse tells whoever has typed a command line that makes no sense.
func refuse(problem string) int {
	os.Stderr.WriteString(Name + ": " + problem + ". This program is executed by airlock, not by hand.\n")
	return exitUsage
}
