package process

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// Launcher prepares and spawns the child of a process.
type Launcher interface {
	// Check refuses what can't be started whatever the state of the host.
	Check(params *protocol.StartParams) error
	// Launch starts a child, and tells what confines it. Before the child reports
	// anything, adopt is called for whom it reports to; if and only if Launch
	// returns no error. When ctx ends while there is no child yet, it fails with
	// the cause.
	Launch(ctx context.Context, params *protocol.StartParams, adopt func(Child) spawn.Events) (Confined, error)
	// Usages returns what each of these children, and all that it has started,
	// uses now.
	Usages(children []Child) []spawn.Usage
	// Close ends all children, and what those that have ended have left
	// behind. It gives up what does not die.
	Close()
}

// Config is how a table is run.
type Config struct {
	// Retention is how long a closed process can still be read.
	Retention time.Duration
	// MaxProcesses bounds the processes that are not forgotten yet.
	MaxProcesses int
	// Log is how the output of each process is kept.
	Log outlog.Config
	// Input bounds what is to be written to the processes of all tables that
	// share it.
	Input *Budget
	// Features are those of package protocol that clients are told of: sandboxTier,
	// sandboxDenials and sandboxSetupError.
	Features []string
}

// Table is the processes of one session.
type Table struct {
	config   Config
	launcher Launcher
	tasks    sync.WaitGroup // starts, writers and terminations under way
	open     sync.WaitGroup // children that have not closed

	mu        sync.Mutex
	processes map[string]*Process
	started   uint64 // starts so far, to number them
	feed      *Feed
	shut      bool // nothing can be started any more
	closed    bool
}

// NewTable makes an empty table.
func NewTable(config Config, launcher Launcher) *Table {
	if config.Input == nil {
		config.Input = &Budget{}
	}
	return &Table{config: config, launcher: launcher, processes: map[string]*Process{}}
}

// errCanceled is the cause of a preparation that was given up.
var errCanceled = errors.New("start was cancelled")

// Starting is a start whose id has been taken. [Starting.Run] must follow.
type Starting struct {
	p   *Process
	run func() (Confined, error)
}

// Start begins to start a process: it makes the checks that need no effects and
// takes the id.
func (t *Table) Start(params *protocol.StartParams) (*Starting, error) {
	if err := t.launcher.Check(params); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p := newProcess(t, params, func() { cancel(errCanceled) })
	given := p.stdin.bytes
	if !t.config.Input.take(given) {
		p.cancel()
		return nil, errNoBudget(given)
	}
	if err := t.reserve(p); err != nil {
		p.cancel()
		t.config.Input.give(given)
		return nil, err
	}
	return &Starting{p: p, run: func() (Confined, error) { return t.launch(ctx, p, params) }}, nil
}

// Run does the rest of the start, and returns when the program has been executed
// or why it has not. It does not end with the request that asked for it:
// terminating the process or closing the table cancels it.
func (s *Starting) Run() (*protocol.StartResult, error) {
	defer s.p.table.tasks.Done()
	defer s.p.cancel()
	confined, err := s.run()
	if err != nil {
		return nil, err
	}
	return s.p.startResult(confined), nil
}

// reserve takes the id for a process that is to be launched.
func (t *Table) reserve(p *Process) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errStartCanceled(p.id)
	case t.shut:
		return protocol.Errorf(protocol.CodeInvalidRequest,
			"process %s can't be started: the operator is ending this session", p.id)
	case t.processes[p.id] != nil:
		return protocol.Errorf(protocol.CodeInvalidRequest, "process %s already exists", p.id)
	case len(t.processes) >= t.config.MaxProcesses:
		return protocol.Errorf(protocol.CodeInvalidRequest,
			"this session has %d processes, as many as it may: wait until closed ones are forgotten, or terminate some",
			len(t.processes))
	}
	t.processes[p.id] = p
	t.started++
	p.number = t.started
	if t.feed != nil {
		p.cursor = newCursor(t.feed, p, 0)
	}
	t.tasks.Add(1)
	return nil
}

func errStartCanceled(id string) error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "process %s start was cancelled", id)
}

// launch makes the child of a reserved process.
func (t *Table) launch(ctx context.Context, p *Process, params *protocol.StartParams) (Confined, error) {
	t.open.Add(1)
	confined, err := t.launcher.Launch(ctx, params, p.adopt)
	if err != nil {
		t.open.Done()
		t.forget(p)
		if errors.Is(err, errCanceled) {
			err = errStartCanceled(p.id)
		}
		return Confined{}, err
	}
	if child := p.orphan(); child != nil {
		child.Kill()
		return Confined{}, errStartCanceled(p.id)
	}
	return confined, nil
}

// Announce lets the events of the process flow to the feed. It is called once
// the answer to the start is on its way, or can't be given.
func (s *Starting) Announce() { s.p.announce() }

// find returns a process by its id, or nil.
func (t *Table) find(id string) *Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.processes[id]
}

// forget removes a process and kills its child, if there is one. Another
// process that has the same id by now stays.
func (t *Table) forget(p *Process) {
	t.mu.Lock()
	if t.processes[p.id] == p {
		delete(t.processes, p.id)
	}
	t.mu.Unlock()
	if child := p.remove(); child != nil {
		child.Kill()
	}
}

// Attach makes a feed of all events from now on, in place of an earlier one. If
// window is not 0, it hands out so many bytes of output of each process, and
// more as [Table.Grant] allows.
//
// Without a window, the feed is cautious with processes that are there already:
// the client may have missed some of their events and can keep only few that are
// ahead of those. More are handed out when it has read what it has missed, or
// does not do so for a while.
func (t *Table) Attach(window uint64) *Feed {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := newFeed(window)
	if window == 0 && len(t.processes) > 0 {
		f.caution = time.AfterFunc(limits.AheadTimeout, func() { t.endCaution(f) })
	}
	t.setFeed(f)
	return f
}

// endCaution lets all events of a feed be handed out.
func (t *Table) endCaution(f *Feed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.feed != f {
		return
	}
	for _, p := range t.processes {
		p.mu.Lock()
		if p.cursor != nil {
			p.cursor.cautious = false
			p.wakeCursor()
		}
		p.mu.Unlock()
	}
}

// Grant lets a feed hand out more bytes of output of a process.
func (t *Table) Grant(f *Feed, id string, bytes uint64) {
	if p := t.find(id); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cursor != nil && p.cursor.feed == f && p.cursor.windowed {
			p.cursor.credit += int64(min(bytes, maxCredit))
			p.cursor.credit = min(p.cursor.credit, maxCredit)
			p.wakeCursor()
		}
	}
}

// Stall lets processes run ahead of a feed whose events are not taken, or ends
// that.
func (t *Table) Stall(f *Feed, stalled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.stalled.Store(stalled)
	if t.feed != f {
		return
	}
	for _, p := range t.processes {
		p.mu.Lock()
		p.madeRoom()
		p.mu.Unlock()
	}
}

// Detach ends a feed. Processes are not held back any more.
func (t *Table) Detach(f *Feed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.feed == f {
		t.setFeed(nil)
	}
}

// setFeed exchanges the feed. The caller holds the lock.
func (t *Table) setFeed(f *Feed) {
	if t.feed != nil {
		t.feed.close()
	}
	t.feed = f
	for _, p := range t.processes {
		p.mu.Lock()
		p.cursor = nil
		if f != nil {
			p.cursor = newCursor(f, p, p.nextSeq-1)
			p.cursor.cautious = f.caution != nil
		}
		p.madeRoom()
		p.mu.Unlock()
	}
}

// Shut refuses starts from now on.
func (t *Table) Shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
}

// Close kills every process and forgets it, ends the feed and waits until
// nothing of the table runs any more.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	t.setFeed(nil)
	var left []*Process
	for _, p := range t.processes {
		left = append(left, p)
	}
	clear(t.processes)
	t.mu.Unlock()
	for _, p := range left {
		p.cancel()
		if child := p.remove(); child != nil {
			child.Kill()
		}
	}
	t.launcher.Close() // first: it gives up what does not die, the others wait for it
	t.tasks.Wait()
	t.open.Wait()
}
