package confined

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/spawn"
)

// itself returns what has to be readable so that this program can be executed: its
// own file.
func itself() []string {
	path, err := os.Executable()
	if err != nil {
		return nil // it is executed by its descriptor all the same, where nothing else is asked
	}
	return []string{path}
}

// launcher starts workers for real.
type launcher struct {
	Config
	env []string
}

func (l *launcher) close() {
	if l.Group != nil {
		_ = l.Group.Close() // it has been logged
	}
}

// start implements [starter].
func (l *launcher) start(ctx context.Context, plan *sandbox.Plan, stdin *os.File) (child, error) {
	if !isHooked.Load() {
		return nil, errPrepare(ErrNoWorker)
	}
	// Also if another file has been put in its place since.
	program, err := os.OpenFile("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errPrepare(err)
	}
	defer program.Close()
	confined, err := l.Backend.Confine(ctx, plan)
	if err != nil {
		return nil, errPrepare(err)
	}
	w := &running{done: make(chan struct{})}
	err = l.Group.Start(&spawn.Command{
		Argv: []string{Name}, Program: program,
		Dir: "/", Env: l.env, Socket: stdin,
		Confinement: confined.Confinement, Cleanup: confined.Undo,
	}, func(p *spawn.Process) spawn.Events {
		w.Process = p
		return w
	})
	if err != nil {
		return nil, errPrepare(err)
	}
	if failure := w.SetupFailure(); failure != nil {
		<-w.done
		return nil, errFailed(fmt.Sprintf("%s: %s: %s", w.status(), failure.Stage, failure.Message))
	}
	return w, nil
}

// running is a worker that has been started. It implements [spawn.Events].
type running struct {
	*spawn.Process
	done chan struct{}

	mu        sync.Mutex
	complaint []byte // guarded by mu; what it has said on standard error
	code      int    // guarded by mu
}

// Admit implements [spawn.Events].
func (*running) Admit(<-chan struct{}) {}

// Output implements [spawn.Events].
func (w *running) Output(stream spawn.Stream, b []byte) {
	if stream != spawn.Stderr {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaint = append(w.complaint, b[:min(len(b), limits.FileWorkerComplaint-len(w.complaint))]...)
}

// Exited implements [spawn.Events].
func (w *running) Exited(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.code = code
}

// Closed implements [spawn.Events].
func (w *running) Closed() { close(w.done) }

func (w *running) ended() <-chan struct{} { return w.done }

func (w *running) status() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("exit status: %d", w.code)
	if said := strings.TrimSpace(string(w.complaint)); said != "" {
		text += ": " + said
	}
	if w.code == notFound && loadsLibraries() {
		text += ": this program takes shared libraries to be executed, which the policy does not let it read: build it with CGO_ENABLED=0"
	}
	return text
}

// notFound is the exit code of a program that can't be executed as something is not
// there.
const notFound = 127

// loadsLibraries tells whether this program has been loaded with shared libraries.
var loadsLibraries = sync.OnceValue(func() bool {
	maps, err := os.ReadFile("/proc/self/maps")
	return err == nil && strings.Contains(string(maps), ".so")
})
