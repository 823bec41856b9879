package client

import (
	"fmt"
	"strings"

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
	// Gap: the executor has dropped output that should stand here.
	Gap
)

// Event is something that a process did.
type Event struct {
	Kind EventKind
	// Seq numbers the events of a process from 1. Each is one more than the
	// one before, except that a [Gap] stands for the numbers from FirstSeq to
	// Seq. Where among dropped output the program has exited can't always be
	// told: the exit then comes behind that, and may repeat a number.
	Seq uint64
	// Stream and Data of an [Output] event.
	Stream protocol.Stream
	Data   []byte
	// ExitCode and SandboxDenied of an [Exited] event. SandboxDenied is a guess, by
	// what the program has said; Denials, of the same event, are what is known that
	// the sandbox has denied, if the executor tells.
	ExitCode      int
	SandboxDenied bool
	Denials       []protocol.Denial
	// SetupError of an [Exited] event tells that the sandbox could not be set up,
	// and that nothing was executed, if the executor tells.
	SetupError *protocol.SetupError
	// Reason of an [Exited] event says what has ended the process, if it was the
	// executor and tells. A [Closed] event has it if that was after the exit.
	Reason protocol.EndReason
	// FirstSeq is the first number that a [Gap] stands for.
	FirstSeq uint64
	// Missed is how many bytes of each stream are gone with a [Gap], together
	// with those of gaps before it that did not know. It is nil if the executor
	// does not tell.
	Missed map[protocol.Stream]uint64
}

// GapError is how a [Reader] tells of output that the executor has dropped.
// What comes after it can still be read.
type GapError struct {
	ProcessID string
	// FirstSeq and LastSeq are the numbers of the events that are missing.
	FirstSeq, LastSeq uint64
	// Missed is as in [Event].
	Missed map[protocol.Stream]uint64
}

// Error says what is missing.
func (e *GapError) Error() string {
	what := "some output"
	if e.Missed != nil {
		var parts []string
		for _, stream := range []protocol.Stream{protocol.StreamStdout, protocol.StreamStderr, protocol.StreamPTY} {
			if n := e.Missed[stream]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d bytes of %s", n, stream))
			}
		}
		if parts != nil {
			what = strings.Join(parts, " and ")
		}
	}
	return fmt.Sprintf("process %q: the executor has dropped %s (events %d to %d)",
		e.ProcessID, what, e.FirstSeq, e.LastSeq)
}

// item is an event on its way to whoever takes it.
type item struct {
	Event
	// first and last are the numbers that it stands for. One that stands for
	// none has first = last + 1, and its place is before first.
	first, last uint64
	// from is set if it came as a notification, which the connection's window
	// counts.
	from *link
	// dropped, of a gap, counts all bytes of each stream up to its end; nil if
	// that is not known.
	dropped map[protocol.Stream]uint64
}

func numbered(e Event, from *link) item { return item{Event: e, first: e.Seq, last: e.Seq, from: from} }

// itemCost is added to the length of an item's data, so that empty ones are
// bounded, too.
const itemCost = 128

func (i *item) cost() int { return len(i.Data) + itemCost }

// concerns tells whether output of a stream may be missing with a gap.
func (e *Event) concerns(stream protocol.Stream) bool { return e.Missed == nil || e.Missed[stream] > 0 }
