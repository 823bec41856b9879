package spawn

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Process is a started process.
type Process struct {
	child   child     // the platform's handle on it
	input   *os.File  // standard input or the terminal; nil if there is none
	tty     bool      // input is the terminal
	streams []*stream // what is read, one goroutine each
	tree    *tree.Tree
	group   *Group
	events  Events
	// Within what it has been started; see limit.
	limits     Limits
	mechanisms Mechanisms
	// What confines it; nil if nothing does.
	confined *confined
	cleanup  func() // is run before Closed is reported; may be nil

	exited    chan struct{} // closed when the exit has been noticed
	abandoned chan struct{} // closed when the streams are given up
	abandon   func()        // gives them up, once

	undrained sync.WaitGroup // streams not yet read up to the exit
	flowing   sync.WaitGroup // streams not yet ended
	lingering atomic.Bool    // a stream has outlived the exit

	doomed chan struct{} // closed by the first Kill

	mu     sync.Mutex
	state  state // guarded by mu
	killed bool  // guarded by mu
	struck bool  // guarded by mu; SIGKILL has been sent to its group by Signal
	reaped bool  // guarded by mu; the process id may belong to another since
	// exceeded is the limit that has ended it.
	exceeded Exceeded // guarded by mu
	// What becomes of the tree; see fell.
	falling bool            // guarded by mu; it is being killed
	felling <-chan struct{} // guarded by mu; closed at the end of the latest kill
	holds   int             // guarded by mu; who needs it to stay ours
	unheld  sync.Cond       // holds has become 0
	dead    bool            // guarded by mu; it has been, and has no members
	parting bool            // guarded by mu; it is going to be parted
	parted  bool            // guarded by mu; it is not ours any more
}

// state is how far a process has got. It only moves forward, in [Process.enter].
type state int

const (
	running   state = iota
	exited          // the leader is dead, its last output is being read
	announced       // the exit is known; others may hold the streams
)

func newProcess(c child, t *tree.Tree, input *os.File, tty bool, streams []*stream) *Process {
	p := &Process{
		child:     c,
		tree:      t,
		input:     input,
		tty:       tty,
		streams:   streams,
		exited:    make(chan struct{}),
		abandoned: make(chan struct{}),
		doomed:    make(chan struct{}),
	}
	p.unheld.L = &p.mu
	p.abandon = sync.OnceFunc(func() {
		close(p.abandoned)
		for _, s := range p.streams {
			s.giveUp()
		}
	})
	return p
}

// run begins to report what the process does. It calls done after the last
// report.
func (p *Process) run(ev Events, done func()) {
	p.events = ev
	p.undrained.Add(len(p.streams))
	p.flowing.Add(len(p.streams))
	for _, s := range p.streams {
		go p.follow(s)
	}
	go func() {
		p.supervise()
		done()
	}()
}

// follow hands over the output of one stream until it ends.
func (p *Process) follow(s *stream) {
	var err error
	for err == nil {
		p.events.Admit(p.exited)
		err = s.pass(p.events)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The process has exited and supervise wants to tell: what the
		// process has written is read now, whether or not it is admitted.
		<-p.exited
		err = s.drain(p.events)
	}
	if err != nil {
		p.flowing.Done()
		p.undrained.Done()
		return
	}
	p.lingering.Store(true)
	p.undrained.Done()
	for err == nil {
		p.events.Admit(p.abandoned)
		err = s.pass(p.events)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = s.drain(p.events) // given up; what has been written is worth having
	}
	p.flowing.Done()
}

// supervise takes the process from its exit to its end. Until the streams have
// ended and nobody needs the tree, its leader stays a zombie: so its process id,
// which is also its group's, can't be given to others, and signals can't hit them.
func (p *Process) supervise() {
	end := p.child.wait()
	if p.confined != nil {
		end = p.confined.ending(end)
	}
	code, gone := end.code, end.gone
	p.blame(end)
	if gone {
		p.tree.Reaping()
	}
	if p.confined != nil {
		p.finish()
	}
	p.enter(exited, gone)
	for _, s := range p.streams {
		s.interrupt()
	}
	close(p.exited)
	if p.settle() && p.end(false) {
		// Nothing more can come. Told without a pause, the exit and the close
		// can travel together.
		p.events.Exited(code)
	} else {
		p.events.Exited(code)
		if killed := p.enter(announced, gone); killed {
			p.abandon()
		}
		p.flowing.Wait()
		p.end(true)
	}
	if p.cleanup != nil {
		p.cleanup()
		p.cleanup = nil // what has ended may be remembered for long, and this holds on to much
	}
	p.events.Closed()
}

// finish ends what a confined process has left, once it has exited.
func (p *Process) finish() {
	p.mu.Lock()
	if p.confined.isolated {
		// The helper is the first process of a namespace: the kernel has killed all
		// others, and waited for them, before it told of its end.
		p.dead = true
		p.mu.Unlock()
		return
	}
	p.fell()
	felled := p.felling
	p.mu.Unlock()
	if felled != nil {
		<-felled
	}
}

// end parts with the tree, reaps the process and closes everything, once nobody
// does anything with the tree any more: if it has been killed it is dead then.
// Until then the leader stays a zombie, as its number is what some means know the
// tree by. Who does not want to wait gets false if that may take a while.
func (p *Process) end(wait bool) bool {
	p.mu.Lock()
	if !wait && (p.killed || p.holds > 0) {
		p.mu.Unlock()
		return false
	}
	p.parting = true
	for p.holds > 0 {
		p.unheld.Wait()
	}
	p.parted = true
	p.state = announced
	dead := p.dead
	p.reap()
	p.mu.Unlock()
	for _, s := range p.streams {
		s.close()
	}
	if p.input != nil {
		p.input.Close()
	}
	if p.confined != nil {
		p.confined.control.close()
	}
	p.group.keep(p.tree, dead)
	return true
}

// enter moves the process on to another state and tells whether it has been
// killed before.
func (p *Process) enter(next state, reaped bool) (killed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = next
	p.reaped = reaped
	return p.killed
}

// reap ends the zombie. The caller holds the lock.
func (p *Process) reap() {
	if !p.reaped {
		p.tree.Reaping()
		p.child.reap()
		p.reaped = true
	}
	p.child.release()
}

// PID returns the process id, which on Unix is also that of the process's
// group and session.
func (p *Process) PID() int { return p.child.pid }

var errNoInput = errors.New("process has no standard input to write to")

// Write writes to standard input or to the terminal. It blocks until the
// system has taken all of b; Kill, CloseStdin and the process's end (not its
// mere exit: others may read on) make it return an error.
func (p *Process) Write(b []byte) error {
	if p.input == nil {
		return errNoInput
	}
	_, err := p.input.Write(b)
	return err
}

// CloseStdin closes standard input, which the program sees as its end. It does
// nothing to a terminal: there the end is a character to write (^D).
func (p *Process) CloseStdin() {
	if p.input != nil && !p.tty {
		p.input.Close()
	}
}
