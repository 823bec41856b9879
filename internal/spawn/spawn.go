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
package spawn

import (
	"errors"
	"sync"
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
	// Stdin asks for a standard input that can be written to. Without it
	// standard input is empty. A terminal can be written to anyway.
	Stdin bool
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
	// reaped, its streams have ended, its descriptors are closed.
	Closed()
}

// Spawner starts processes and owns them until they have closed.
type Spawner struct {
	system system // what the platform needs

	// live counts starts in progress and processes that have not closed. It
	// grows only under mu and while closed is false.
	live sync.WaitGroup

	mu        sync.Mutex
	closed    bool                  // guarded by mu
	processes map[*Process]struct{} // guarded by mu
}

// New returns a Spawner, which its owner has to Close.
//
// It sets the scene for children once, for the whole program: descriptors that
// the program has inherited become close-on-exec, and signals that it has
// inherited as ignored are caught instead, since only ignored signals stay so
// in a child.
func New() *Spawner {
	s := &Spawner{processes: make(map[*Process]struct{})}
	s.system.open()
	return s
}

var errClosed = errors.New("processes can no longer be started: the executor is shutting down")

// Start starts a process and returns when its program has been executed. Before
// anything is reported it calls adopt, once, for whom to report to. An error is
// an *[Error]; then adopt has not been called.
func (s *Spawner) Start(cmd *Command, adopt func(*Process) Events) error {
	if err := check(cmd); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return &Error{Kind: Failed, Err: errClosed}
	}
	s.live.Add(1)
	s.mu.Unlock()

	p, err := s.system.launch(cmd)
	if err != nil {
		s.live.Done()
		return startError(err)
	}

	s.mu.Lock()
	s.processes[p] = struct{}{}
	late := s.closed
	s.mu.Unlock()
	p.run(adopt(p), func() {
		s.mu.Lock()
		delete(s.processes, p)
		s.mu.Unlock()
		s.live.Done()
	})
	if late {
		p.Kill()
	}
	return nil
}

// Close kills the processes that are left, waits until all have closed, and
// releases what the Spawner holds. Starts fail from then on.
func (s *Spawner) Close() {
	s.mu.Lock()
	s.closed = true
	left := make([]*Process, 0, len(s.processes))
	for p := range s.processes {
		left = append(left, p)
	}
	s.mu.Unlock()
	for _, p := range left {
		p.Kill()
	}
	s.live.Wait()
	s.system.close()
}
