package process

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/spawn"
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
	// ExitCode of an exited event.
	ExitCode int32
}

// Feed hands out the events of all processes of a table from the time of its
// attachment on: of each process strictly in order, of several ones in turn.
// One goroutine takes events from it.
type Feed struct {
	data []byte // of the newest event

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
}

func newFeed() *Feed {
	f := &Feed{}
	f.change.L = &f.mu
	return f
}

// wake puts the cursor in line for its next event. The caller holds the lock of
// the process.
func (c *cursor) wake() {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	if c.queued || c.feed.closed {
		return
	}
	c.queued = true
	c.feed.ready = append(c.feed.ready, c)
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

// take returns the next event at the cursor, if there is one, and puts the
// cursor in line again if there are more.
func (c *cursor) take() (Event, bool) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	seq := c.sent + 1
	if p.cursor != c || seq >= p.nextSeq {
		return Event{}, false
	}
	event := Event{ProcessID: p.id, Seq: seq}
	switch seq {
	case p.exitSeq:
		event.Kind, event.ExitCode = EventExited, p.exitCode
	case p.closeSeq:
		event.Kind = EventClosed
	default:
		chunk := p.log.after(c.sent)[0]
		c.feed.data = p.log.copyOut(c.feed.data[:0], chunk)
		event.Stream, event.Data = chunk.stream, c.feed.data
		p.log.sealed = max(p.log.sealed, seq)
	}
	c.sent = seq
	p.evict(0)
	p.madeRoom()
	if seq+1 < p.nextSeq {
		c.wake()
	}
	return event, true
}

// close ends the feed.
func (f *Feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.ready = nil
	f.change.Broadcast()
}
