package confined

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Name is what a worker is called, as its argv[0].
const Name = "airlock-files"

// ErrNoWorker means that this program can't be executed as a worker.
var ErrNoWorker = errors.New("this program can't start a worker for files in a confinement: " +
	"let its main function call server.RunHelper before anything else")

// isHooked is set when RunIfWorker has been called: this program knows what to do
// when it is executed under the worker's name.
var isHooked atomic.Bool

// exitUsage is the exit status of what is executed by hand.
const exitUsage = 2

// RunIfWorker runs a worker and ends the program if that is what it has been
// executed for. Otherwise it does nothing, but from then on the program can be
// executed as one.
func RunIfWorker() {
	if len(os.Args) == 1 && filepath.Base(os.Args[0]) == Name {
		os.Exit(work()) //nolint:forbidigo // the rest of main is another program's
	}
	isHooked.Store(true)
}

// refuse tells whoever has executed a worker by hand.
func refuse(problem string) int {
	os.Stderr.WriteString(Name + ": " + problem + ". This program is executed by airlock, not by hand.\n")
	return exitUsage
}
