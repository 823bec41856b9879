package process

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// EventKind is what an [Event] tells.
type EventKind int

// Kinds of event.
const (
	EventOutput EventKind = iota
	EventExited
	EventClosed
)

// Event is one numbered event of a process.
type Event struct {
	Kind      EventKind
	ProcessID string
	Seq       uint64
	// Stream and Data of an output event. The data is valid until the next
	// event is taken.
	Stream spawn.Stream
	Data   []byte
	// ExitCode of an exited event, and what is told of its sandbox.
	ExitCode      int32
	SandboxDenied bool
	Denials       []protocol.Denial
	SetupError    *protocol.SetupError
	// Reason, if not empty, is why the process has been ended.
	Reason protocol.EndReason
	// Gap is set if events right before this one have been dropped.
	Gap *outlog.Gap
}

// Feed hands out the events of all processes of a table from the time of its
// attachment on: of each process strictly in order, of several ones in turn.
// One goroutine takes events from it.
type Feed struct {
	window uint64 // of each process, in bytes; 0: no bound
	reader outlog.Reader
	// stalled: nobody takes events, and processes need not wait for it.
	stalled atomic.Bool

	caution *time.Timer // ends the caution of cursors; nil if there is none

	mu     sync.Mutex
	change sync.Cond // ready or closed changed
	ready  []*cursor // those with events to take, each once
	closed bool
}

// cursor is a feed's place in the events of one process. Its fields are guarded
// by the lock of the process, except queued, by that of the feed.
type cursor struct {
	feed   *Feed
	p      *Process
	sent   uint64 // the newest number that was handed out
	queued bool
	// windowed: output is handed out only while credit is above zero.
	windowed bool
	credit   int64 // bytes
	// cautious: the client has come back and not yet read what it has missed;
	// it can keep only so much of what is ahead of that.
	cautious   bool
	ahead      int // events handed out
	aheadBytes int // of output in them
}

// maxCredit is as good as no bound.
const maxCredit = math.MaxInt64 / 2

func newCursor(f *Feed, p *Process, sent uint64) *cursor {
	return &cursor{
		feed: f, p: p, sent: sent,
		windowed: f.window > 0, credit: int64(min(f.window, maxCredit)),
	}
}

func newFeed(window uint64) *Feed {
	f := &Feed{window: window}
	f.change.L = &f.mu
	return f
}

// wake puts the cursor in line for its next event, first or last. The caller
// holds the lock of the process.
func (c *cursor) wake(first bool) {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	if c.queued || c.feed.closed {
		return
	}
	c.queued = true
	if first {
		c.feed.ready = slices.Insert(c.feed.ready, 0, c)
	} else {
		c.feed.ready = append(c.feed.ready, c)
	}
	c.feed.change.Signal()
}

// Next returns the next event. If there is none it calls idle, once, and waits.
// It reports false when the feed has been closed.
func (f *Feed) Next(idle func()) (Event, bool) {
	for {
		c := f.pop(false)
		if c == nil && idle != nil {
			idle()
			idle = nil
		}
		if c == nil {
			if c = f.pop(true); c == nil {
				return Event{}, false
			}
		}
		if event, ok := c.take(); ok {
			return event, true
		}
	}
}

// pop takes the first cursor that is in line. It returns nil if there is none
// and it shall not wait, or if the feed has been closed.
func (f *Feed) pop(wait bool) *cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	for wait && len(f.ready) == 0 && !f.closed {
		f.change.Wait()
	}
	if len(f.ready) == 0 {
		return nil
	}
	c := f.ready[0]
	f.ready[0] = nil
	f.ready = f.ready[1:]
	c.queued = false
	return c
}

// mayTake tells whether there is an event that the cursor may hand out. The
// caller holds the lock of the process.
func (c *cursor) mayTake() bool {
	next := c.sent + 1
	if next >= c.p.nextSeq {
		return false
	}
	if c.cautious && (c.ahead >= limits.AheadEvents || c.aheadBytes >= limits.AheadBytes) {
		return false
	}
	return !c.windowed || c.credit > 0 || next == c.p.exitSeq || next == c.p.closeSeq
}

// take returns the next event at the cursor, if there is one, and puts the
// cursor in line again if there are more.
func (c *cursor) take() (Event, bool) {
	p := c.p
	p.mu.Lock()
	if p.cursor != c || !c.mayTake() {
		p.mu.Unlock()
		return Event{}, false
	}
	event := Event{ProcessID: p.id, Seq: c.sent + 1, ExitCode: p.exitCode}
	next, exitSeq, closeSeq := p.nextSeq, p.exitSeq, p.closeSeq
	reason, reasonSeq, sandbox := p.reason, p.reasonSeq, p.sandbox
	p.mu.Unlock()

	// Output may have to be fetched from a file.
	if event.Seq != exitSeq && event.Seq != closeSeq {
		chunk, gap, found := c.feed.reader.Next(p.log, c.sent, next)
		event.Gap = gap
		switch {
		// What was dropped is passed over. The exit and the close never are.
		case exitSeq > c.sent && (!found || chunk.Seq > exitSeq):
			event.Seq = exitSeq
		case !found && closeSeq != 0:
			event.Seq = closeSeq
		case !found:
			return Event{}, false
		default:
			event.Seq, event.Stream, event.Data = chunk.Seq, chunk.Stream, chunk.Data
		}
	}
	switch event.Seq {
	case exitSeq:
		event.Kind = EventExited
		event.SandboxDenied, event.Denials, event.SetupError = sandbox.denied, sandbox.denials, sandbox.setup
	case closeSeq:
		event.Kind = EventClosed
	}
	if event.Seq == reasonSeq {
		event.Reason = reason
	}

	defer p.trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cursor != c {
		return Event{}, false
	}
	c.sent = event.Seq
	c.credit -= int64(len(event.Data))
	c.ahead++
	c.aheadBytes += len(event.Data)
	p.madeRoom()
	if c.mayTake() {
		// What has been fetched from a file is handed out before the next
		// process has its turn and something else is fetched.
		c.wake(c.feed.reader.Holds(p.log, c.sent))
	}
	return event, true
}

// close ends the feed.
func (f *Feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.ready = nil
	if f.caution != nil {
		f.caution.Stop()
	}
	f.change.Broadcast()
}
