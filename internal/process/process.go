package process

import (
	"math"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// state is where a process is in its life.
type state int

const (
	starting state = iota // being prepared and spawned
	running
	exited // the exit has been numbered; output may still come
	closed // everything has been numbered
)

// Process is one entry of a [Table]. It implements [spawn.Events].
type Process struct {
	id          string
	table       *Table
	hasStdin    bool // that can be written to
	hasTerminal bool
	cancel      func()                  // ends the preparation
	about       about                   // for lists
	limits      *protocol.ProcessLimits // that were asked for
	confined    bool                    // a sandbox was asked for
	askedOurs   bool                    // something of Airlock was
	number      uint64                  // in the order of the starts

	mu    sync.Mutex
	state state
	child Child
	// removed: the table does not know the process any more.
	removed bool
	// announced: the answer to the start has been sent, events may follow.
	announced bool
	log       *outlog.Log
	stdin     stdin
	nextSeq   uint64
	outputSeq uint64 // of the newest output
	exitSeq   uint64 // 0 before
	exitCode  int32
	closeSeq  uint64 // 0 before
	// reason is why we have ended the process, if we have; reasonSeq is the
	// number of the event that tells, 0 before.
	reason      protocol.EndReason
	reasonSeq   uint64
	sandbox     sandboxReport
	outputBytes [spawn.Terminal + 1]uint64 // by stream
	timeouts    timeouts
	termination *termination // under way; nil if there is none
	cursor      *cursor
	// news, if not nil, is closed at the next event, for those who wait.
	news chan struct{}
	// room, if not nil, is closed when more output may be read.
	room      chan struct{}
	retention *time.Timer
}

var _ spawn.Events = (*Process)(nil)

func newProcess(t *Table, params *protocol.StartParams, cancel func()) *Process {
	p := &Process{
		id: params.ProcessID, table: t, cancel: cancel, nextSeq: 1,
		hasStdin: params.TTY || params.PipeStdin, hasTerminal: params.TTY,
		about: describe(params), log: outlog.New(t.config.Log),
		confined: params.Sandbox != nil, askedOurs: params.Airlock != nil,
	}
	if extra := params.Airlock; extra != nil {
		p.limits = extra.Limits
		p.timeouts.set(extra)
		if extra.Stdin != nil {
			p.stdin.give(*extra.Stdin)
		}
	}
	return p
}

// moveTo changes the state. States only ever follow in order. The caller holds
// the lock.
func (p *Process) moveTo(s state) {
	if s != p.state+1 {
		panic("process: state out of order")
	}
	p.state = s
}

// nextNumber takes the next sequence number. The caller holds the lock.
func (p *Process) nextNumber() uint64 {
	seq := p.nextSeq
	p.nextSeq++
	return seq
}

// happened wakes whoever waits for an event. The caller holds the lock.
func (p *Process) happened() {
	if p.news != nil {
		close(p.news)
		p.news = nil
	}
	p.wakeCursor()
}

// wakeCursor puts the cursor in line if there is an event that it may take. The
// caller holds the lock.
func (p *Process) wakeCursor() {
	if p.cursor != nil && p.announced && p.cursor.mayTake() {
		p.cursor.wake(false)
	}
}

// nextNews returns a channel that is closed at the next event. The caller holds
// the lock, so that no event is missed between a look and the wait.
func (p *Process) nextNews() <-chan struct{} {
	if p.news == nil {
		p.news = make(chan struct{})
	}
	return p.news
}

// announce lets events flow: the answer to the start is on its way, or there
// is nobody left to answer.
func (p *Process) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.announced = true
	p.wakeCursor()
}

// adopt makes a spawned child the process's own.
func (p *Process) adopt(child Child) spawn.Events {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = child
	if !p.removed {
		p.moveTo(running)
		p.startTimeouts()
		if p.stdin.closing { // all of it is known
			p.wakeWriter()
		}
	}
	return p
}

// orphan returns the child of a process that was terminated, or whose table was
// closed, before it had one. It is still starting, for nobody will ask.
func (p *Process) orphan() Child {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == starting {
		return p.child
	}
	return nil
}

// heldBytes is how far a feed may fall behind before its process is held back:
// enough to keep the connection busy while more is read.
const heldBytes = limits.RetainedBytes / 2

// Admit implements [spawn.Events].
func (p *Process) Admit(stop <-chan struct{}) {
	for {
		p.mu.Lock()
		if p.hasRoom() {
			p.mu.Unlock()
			return
		}
		if p.room == nil {
			p.room = make(chan struct{})
		}
		room := p.room
		p.timeouts.held++
		p.mu.Unlock()
		open := true
		select {
		case <-room:
		case <-stop:
			open = false
		}
		p.mu.Lock()
		p.timeouts.held--
		p.timeouts.active()
		p.mu.Unlock()
		if !open {
			return
		}
	}
}

// hasRoom tells whether more output may be read: nobody holds the process back,
// or the feed is not far behind. The caller holds the lock.
func (p *Process) hasRoom() bool {
	return !p.heldBack() || p.log.Behind(p.cursor.sent) < heldBytes
}

// heldBack tells whether a feed sets the process's pace. The caller holds the
// lock.
func (p *Process) heldBack() bool { return p.cursor != nil && !p.cursor.feed.stalled.Load() }

// madeRoom lets held readers go on if there is room. The caller holds the lock.
func (p *Process) madeRoom() {
	if p.room != nil && p.hasRoom() {
		close(p.room)
		p.room = nil
	}
}

// Output implements [spawn.Events].
func (p *Process) Output(stream spawn.Stream, b []byte) {
	if p.record(stream, b) {
		p.trim()
	}
}

// record adds output to the log. It reports whether that has to be trimmed now: a
// feed that sets the pace does so as it gets on, while more output is read.
func (p *Process) record(stream spawn.Stream, b []byte) (trim bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == closed {
		return false
	}
	p.timeouts.active()
	p.outputBytes[stream] += uint64(len(b))
	// While the feed is behind, what comes goes into the chunk it has not seen.
	behind := p.cursor == nil || p.cursor.sent+1 < p.nextSeq
	if !behind || !p.log.Grow(p.nextSeq-1, stream, b) {
		p.outputSeq = p.nextNumber()
		p.log.Append(p.outputSeq, stream, b)
		p.happened()
	}
	return !p.heldBack() || p.log.Full()
}

// trim brings the log within its bounds. What a feed that sets the pace has still
// to take is not dropped.
func (p *Process) trim() {
	pinned := uint64(math.MaxUint64)
	p.mu.Lock()
	if p.heldBack() {
		pinned = p.cursor.sent
	}
	p.mu.Unlock()
	p.log.Trim(pinned)
}

// Exited implements [spawn.Events].
func (p *Process) Exited(code int) {
	report := p.sandboxReport(code)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == starting {
		return // an orphan, which was never heard of
	}
	p.moveTo(exited)
	p.sandbox = report
	p.exitSeq = p.nextNumber()
	p.exitCode = int32(code)
	if p.reason == "" && code != 0 {
		p.reason = exceeded(p.child)
	}
	if p.reason != "" && p.isCause(code) {
		p.reasonSeq = p.exitSeq
	}
	p.happened()
}

// Closed implements [spawn.Events].
func (p *Process) Closed() {
	defer p.table.open.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == starting {
		return
	}
	p.moveTo(closed)
	p.closeSeq = p.nextNumber()
	if p.reason != "" && p.reasonSeq == 0 && p.child.Lingered() {
		p.reasonSeq = p.closeSeq
	}
	p.timeouts.stop()
	p.stdin.end(p.table.config.Input)
	p.happened()
	if !p.removed {
		// Made first and set then, so that retire finds it.
		p.retention = time.AfterFunc(math.MaxInt64, p.retire)
		p.retention.Reset(p.table.config.Retention)
	}
}

// retire forgets a closed process, or looks again later if a feed has still to
// take events of it.
func (p *Process) retire() {
	p.mu.Lock()
	behind := p.cursor != nil && p.cursor.sent < p.closeSeq
	if behind && !p.removed {
		p.retention.Reset(p.table.config.Retention)
	}
	p.mu.Unlock()
	if !behind {
		p.table.forget(p)
	}
}

// remove marks the process as unknown, lets go of its output and returns its
// child, if it has one that has not closed. Whoever waits for the process learns
// that it is unknown.
func (p *Process) remove() Child {
	defer p.log.Close() // it may have to wait for a disk
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = true
	p.timeouts.stop()
	if p.retention != nil {
		p.retention.Stop()
	}
	p.stdin.fail()
	if p.state == starting { // nobody will read it
		p.stdin.end(p.table.config.Input)
	}
	p.cursor = nil
	p.madeRoom()
	p.happened()
	if p.state == closed {
		return nil
	}
	return p.child
}
