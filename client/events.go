package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/airlock-exec/airlock/protocol"
)

// EventKind is what an [Event] tells.
type EventKind int

// Kinds of event.
const (
	// Output: the process has written something.
	Output EventKind = iota
	// Exited: the program has ended; what it left behind may still write.
	Exited
	// Closed: nothing more will come.
	Closed
)

// Event is something that a process did.
type Event struct {
	Kind EventKind
	// Seq numbers the events of a process from 1, without gaps.
	Seq uint64
	// Stream and Data of an [Output] event.
	Stream protocol.Stream
	Data   []byte
	// ExitCode and SandboxDenied of an [Exited] event.
	ExitCode      int
	SandboxDenied bool
}

// Bounds on what waits in [events].
const (
	// waitingBytes is how much may wait to be taken before the connection is
	// held back.
	waitingBytes = 1 << 20
	// earlyEvents is how many events may come before one with a lower number,
	// which executors other than Airlock do.
	earlyEvents = 256
)

// errGap ends a process whose events have a hole.
var errGap = errors.New("the executor left out an event")

// events is the queue of one process's events, in order of their numbers.
type events struct {
	mu     sync.Mutex
	change chan struct{} // closed and replaced at every change
	queue  []Event
	bytes  int
	early  map[uint64]Event
	last   uint64 // the newest number in the queue
	closed bool   // the closed event has been taken
	err    error
}

func newEvents() *events {
	return &events{change: make(chan struct{}), early: map[uint64]Event{}}
}

func (e *events) changed() {
	close(e.change)
	e.change = make(chan struct{})
}

// put adds an event, when there is room. It returns an error only if the
// connection is over.
func (e *events) put(event Event) error {
	e.mu.Lock()
	for e.err == nil && e.bytes >= waitingBytes {
		change := e.change
		e.mu.Unlock()
		<-change
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	switch {
	case errors.Is(e.err, ErrDisconnected):
		return e.err
	case e.err != nil || event.Seq <= e.last:
		return nil
	case event.Seq > e.last+1 && len(e.early) >= earlyEvents:
		e.err = fmt.Errorf("%w: number %d", errGap, e.last+1)
		e.changed()
		return nil
	}
	e.early[event.Seq] = event
	for {
		next, ok := e.early[e.last+1]
		if !ok {
			break
		}
		delete(e.early, next.Seq)
		e.queue = append(e.queue, next)
		e.bytes += len(next.Data)
		e.last = next.Seq
	}
	e.changed()
	return nil
}

// next takes the oldest event.
func (e *events) next(ctx context.Context) (Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.queue) == 0 {
		switch {
		case e.closed:
			return Event{}, io.EOF
		case e.err != nil:
			return Event{}, e.err
		}
		change := e.change
		e.mu.Unlock()
		select {
		case <-change:
			e.mu.Lock()
		case <-ctx.Done():
			e.mu.Lock()
			return Event{}, context.Cause(ctx)
		}
	}
	event := e.queue[0]
	e.queue[0] = Event{}
	e.queue = e.queue[1:]
	e.bytes -= len(event.Data)
	e.closed = event.Kind == Closed
	e.changed()
	return event, nil
}

// end lets next fail once the queue is empty.
func (e *events) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
	}
	e.changed()
}
