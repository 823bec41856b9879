package spawn

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Group is processes that end together, with all that they have left behind.
type Group struct {
	spawner *Spawner
	closing chan struct{} // closed when the group is
	quiet   chan struct{} // closed when the group is closed and nothing is under way

	mu        sync.Mutex
	closed    bool                  // guarded by mu
	pending   int                   // guarded by mu; starts in progress and processes that have not closed
	processes map[*Process]struct{} // guarded by mu
	// left are trees of closed processes that may have members.
	left   []*tree.Tree // guarded by mu
	siftAt int          // guarded by mu; how many are too many to keep without a look
}

// NewGroup returns an empty group. It has to be closed, which the Spawner does
// if nobody else has.
func (s *Spawner) NewGroup() *Group {
	g := &Group{
		spawner:   s,
		closing:   make(chan struct{}),
		quiet:     make(chan struct{}),
		processes: make(map[*Process]struct{}),
		siftAt:    siftMin,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		g.closed = true
		close(g.closing)
		close(g.quiet)
		return g
	}
	s.groups[g] = struct{}{}
	return g
}

var errClosed = errors.New("processes can no longer be started: the executor is shutting down")

// errStopped is for a start that has been given up because the group was closed.
var errStopped = errors.New("the group has been closed")

var errGroupClosed = errors.New("processes can no longer be started here: their session has ended")

// Start starts a process and returns when its program has been executed. Before
// anything is reported it calls adopt, once, for whom to report to. An error is
// an *[Error]; then adopt has not been called. That the set-up of a confinement has
// failed is no error: see [Process.SetupFailure].
func (g *Group) Start(cmd *Command, adopt func(*Process) Events) error {
	err := g.start(cmd, adopt)
	if err != nil && cmd.Cleanup != nil {
		cmd.Cleanup()
	}
	return err
}

func (g *Group) start(cmd *Command, adopt func(*Process) Events) error {
	if err := check(cmd); err != nil {
		return err
	}
	if !g.begin() {
		return &Error{Kind: Failed, Err: g.whyClosed()}
	}
	p, err := g.launch(cmd)
	if err != nil {
		g.end(nil)
		if errors.Is(err, errStopped) {
			err = &Error{Kind: Failed, Err: g.whyClosed()}
		}
		return startError(err)
	}
	p.group = g
	p.cleanup = cmd.Cleanup

	g.mu.Lock()
	g.processes[p] = struct{}{}
	late := g.closed
	g.mu.Unlock()
	p.run(adopt(p), func() { g.end(p) })
	if late {
		p.Kill()
	}
	return nil
}

func (g *Group) launch(cmd *Command) (*Process, error) {
	keeper, err := g.spawner.trees.keeper()
	if err != nil {
		return nil, err
	}
	return g.spawner.system.launch(cmd, keeper, g.closing)
}

// begin counts something that is under way, unless the group is closed.
func (g *Group) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.pending++
	g.spawner.live.Add(1)
	return true
}

// end ends what begin has counted, and forgets the process that it was about.
func (g *Group) end(p *Process) {
	g.mu.Lock()
	delete(g.processes, p)
	g.pending--
	if g.closed && g.pending == 0 {
		close(g.quiet)
	}
	g.mu.Unlock()
	g.spawner.live.Done()
}

func (g *Group) whyClosed() error {
	s := g.spawner
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	return errGroupClosed
}

// siftMin is how many trees are kept before they are looked at again. After
// that it is done each time their number has doubled: so the cost for each tree
// stays the same however many have members.
const siftMin = 64

// keep takes over the tree of a process that is about to close.
func (g *Group) keep(t *tree.Tree, dead bool) {
	if dead || t.Empty() {
		t.Release()
		return
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		g.kill([]*tree.Tree{t})
		return
	}
	g.left = append(g.left, t)
	var full []*tree.Tree
	if len(g.left) >= g.siftAt {
		full, g.left = g.left, nil
	}
	g.mu.Unlock()
	if full == nil {
		return
	}
	full = g.spawner.trees.opened().Sift(full)
	g.mu.Lock()
	g.siftAt = max(siftMin, 2*len(full))
	if !g.closed {
		g.left = append(g.left, full...)
		full = nil
	}
	g.mu.Unlock()
	g.kill(full)
}

// kill kills trees that nobody else knows any more, and returns how many have
// withstood. These are left to the keeper.
func (g *Group) kill(trees []*tree.Tree) (alive int) {
	if len(trees) == 0 {
		return 0
	}
	return len(g.spawner.trees.opened().Kill(trees))
}

// deathTime bounds how long the end of a group waits for its processes to
// close: longer than a tree is given to die.
const deathTime = 3 * time.Second

// Close kills the processes of the group and all that they have started and
// left behind, and waits until everything is dead and closed. Starts fail from
// then on. The error says what does not die; that is given up after a few
// seconds. Close must not be called from within [Events].
func (g *Group) Close() error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.closing)
		if g.pending == 0 {
			close(g.quiet)
		}
	}
	left := g.left
	g.left = nil
	running := make([]*Process, 0, len(g.processes))
	for p := range g.processes {
		running = append(running, p)
	}
	g.mu.Unlock()

	for _, p := range running {
		p.Kill()
	}
	alive := g.kill(left)
	late := time.NewTimer(deathTime)
	defer late.Stop()
	select {
	case <-g.quiet:
	case <-late.C:
	}

	s := g.spawner
	s.mu.Lock()
	delete(s.groups, g)
	s.mu.Unlock()
	g.mu.Lock()
	pending := g.pending
	g.mu.Unlock()
	if alive == 0 && pending == 0 {
		return nil
	}
	err := fmt.Errorf("%d processes, and what %d others have left behind, have been killed and do not die", pending, alive)
	s.log.Error("processes do not die", "processes", pending, "left_behind", alive)
	return err
}
