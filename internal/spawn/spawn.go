// Package spawn runs operating-system processes: pipes or a pseudo-terminal,
// sessions and process groups, output and exit, reported in an order that can
// be relied on. It knows nothing of the protocol.
//
// # Concurrency
//
// Methods of [Spawner] and [Process] may be called by any goroutine at any
// time, also from within [Events], except that Spawner.Close must not be
// called from there. What a process needs (goroutines, descriptors, the child
// itself) is released by the time [Events].Closed is called for it; nothing is
// left when [Spawner.Close] has returned.
//
// A running process costs one goroutine for its exit and one for each stream.
// None of them occupies a thread while it waits (on Linux 5.3 and later), and
// none holds a buffer.
//
// # Whole trees
//
// A process and all that it starts are a tree, which package tree holds
// together. [Process.Kill] kills the tree, and Closed is not reported before
// it is dead, or has withstood for two seconds. What a process that ends by
// itself leaves behind lives on until its [Group] is closed.
//
// # Limits
//
// What a process may use can be bounded: see [Limits]. Memory and processes are
// counted for the tree, by control groups; the rest is rlimits of each program.
// Such a program is executed by package helper, in the process that is the
// program's from then on. The start returns when that has been done. A start
// without limits does nothing of this.
package spawn

import (
	"log/slog"
	"os"
	"sync"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Command is what to run, ready for the operating system.
type Command struct {
	// Argv is the program and its arguments. A program with a separator is
	// relative to Dir, any other is looked up on the PATH of Env.
	Argv []string
	// Arg0 is argv[0] as the program sees it; nil means Argv[0].
	Arg0 *string
	// Dir is the working directory.
	Dir string
	// Env holds "NAME=value" entries. They are passed on verbatim: a name may
	// be empty or hold a '='.
	Env []string
	// TTY asks for a terminal of that size in place of pipes.
	TTY *Size
	// Limits bounds what the process may use.
	Limits Limits
	// Stdin asks for a standard input that can be written to. Without it
	// standard input is empty. A terminal can be written to anyway.
	Stdin bool
	// Confinement is what the process is confined to; nil means nothing. What it
	// asks for and can't be had makes set-up fail: see [Process.SetupFailure].
	Confinement *plan.Confinement
	// Socket takes the place of standard input. It stays the caller's, who may
	// close it when Start has returned. It goes with neither TTY nor Stdin.
	Socket *os.File
	// Program is executed in place of a file named by Argv[0], which is what it is
	// called. It stays the caller's, as Socket does, and takes a Confinement.
	Program *os.File
	// Listeners takes over the sockets that Confinement.Listen asks for, before
	// the program is executed. It closes them. An error makes set-up fail.
	Listeners func([]*os.File) error
	// Cleanup is run once: after all that was confined is dead and before Closed
	// is reported, or before Start returns an error. Nil does nothing.
	Cleanup func()
}

// Size is the size of a terminal in character cells.
type Size struct {
	Rows, Cols uint16
}

// Stream names where output comes from.
type Stream int

// Streams. A process with a terminal has only [Terminal].
const (
	Stdout Stream = iota
	Stderr
	Terminal
)

// Events receives what a process does, from after it has been adopted on. Calls
// may come before Start has returned.
type Events interface {
	// Admit blocks while the child shall be held back; it returns at once when
	// stop is closed. It is called before each read of a stream, by the
	// goroutine that reads it.
	Admit(stop <-chan struct{})
	// Output hands over one read, at least one and at most limits.ChunkBytes
	// bytes, which are valid during the call only. It must not block. All
	// output of a stream comes from one goroutine.
	Output(stream Stream, p []byte)
	// Exited is called once, after everything that the process wrote before
	// its exit has been handed over: 0 to 255, 128 + the signal that ended
	// it, or -1 if that is not known. Later output comes from processes that
	// it has left behind.
	Exited(code int)
	// Closed is called once and last: the process has exited and has been
	// reaped, its streams have ended, its descriptors are closed. If it has
	// been killed its descendants are dead, too.
	Closed()
}

// Config says how a [Spawner] works. The zero value is fine.
type Config struct {
	// Means is how trees of processes are held together; empty means the
	// strongest way that works here.
	Means tree.Means
	// OwnsProgram tells that the program exists for this Spawner only. It may
	// then become the parent of orphans, if the means gain by it, and reaps
	// those that it gets, also as the first process of a container.
	OwnsProgram bool
	// Registrar is called once, before the first start, for who is to know
	// what has to be removed should the program die. It may be nil or return
	// nil.
	Registrar func() tree.Registrar
	// Logger is told once how trees are held together, and of trees that do
	// not die. Nil discards.
	Logger *slog.Logger
}

// Spawner starts processes and owns them until they have closed, and what they
// leave behind until their group is closed.
type Spawner struct {
	system   system // what the platform needs
	trees    trees
	log      *slog.Logger
	standing *Group // what is under way that is no session's, as Check

	// live counts starts in progress and processes that have not closed. It
	// grows only under the lock of a group that is not closed.
	live sync.WaitGroup

	mu     sync.Mutex
	closed bool                // guarded by mu
	groups map[*Group]struct{} // guarded by mu
}

// New returns a Spawner, which its owner has to Close.
//
// It sets the scene for children once, for the whole program: descriptors that
// the program has inherited become close-on-exec, and signals that it has
// inherited as ignored are caught instead, since only ignored signals stay so
// in a child.
func New(config Config) *Spawner {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Spawner{groups: make(map[*Group]struct{}), log: config.Logger}
	s.trees.config, s.trees.log, s.trees.system = config, s.log, &s.system
	s.system.helper, s.system.sandbox = helper.Exec, helper.Sandbox
	s.system.open()
	s.standing = s.NewGroup()
	return s
}

// Check returns why no process could be started by the means that the
// configuration asks for. It does nothing if the choice is ours: what is needed
// is then made ready by the first start.
func (s *Spawner) Check() error {
	if !s.trees.explicit() {
		return nil
	}
	if !s.standing.begin() {
		return errClosed
	}
	defer s.standing.end(nil)
	_, err := s.trees.keeper()
	return err
}

// Close closes all groups, waits until all processes have closed, and releases
// what the Spawner holds. Starts fail from then on.
func (s *Spawner) Close() {
	s.mu.Lock()
	s.closed = true
	var closing sync.WaitGroup
	for g := range s.groups {
		closing.Go(func() { _ = g.Close() }) // it has been logged
	}
	s.mu.Unlock()
	closing.Wait()
	s.live.Wait()
	s.system.settle()
	s.trees.close()
	s.system.close()
}
