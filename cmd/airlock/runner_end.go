package main

import (
	"errors"
	"fmt"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// ending is what is known of how a command has ended.
type ending struct {
	code *int // nil: not known
	gaps bool // some of the output is missing
	// reason is why the executor has ended the command, and left why it has ended
	// what the command had left behind.
	reason, left protocol.EndReason
	setup        *protocol.SetupError // nil: the command was executed
}

// note takes from an event what tells of the end.
func (e *ending) note(event *client.Event) {
	switch event.Kind {
	case client.Exited:
		e.code, e.reason, e.setup = &event.ExitCode, event.Reason, event.SetupError
	case client.Closed:
		e.left = event.Reason
	case client.Gap:
		e.gaps = e.gaps || missing(*event) != ""
	case client.Output:
	}
}

// byItself tells whether the program has ended itself, and so had the chance to
// put the terminal in order.
func (e *ending) byItself() bool {
	return e.code != nil && *e.code >= 0 && *e.code <= exitSignal && e.reason == ""
}

// status returns the exit status, and an error if there is something to say.
func (e *ending) status(c *runCommand) (int, error) {
	unknown := e.code == nil || *e.code < 0
	switch {
	case e.setup != nil:
		return exitRunFailed, errors.New("the command was not run: " + printable(e.setup.Message))
	case e.reason == protocol.ReasonDeadline || e.reason == protocol.ReasonIdle:
		return exitTimeout, errors.New(ended("the command", e.reason, c))
	case unknown && e.reason != "":
		return exitRunFailed, errors.New(ended("the command", e.reason, c))
	case unknown:
		return exitRunFailed, errors.New("the executor does not know how the command ended")
	case e.reason != "":
		return *e.code, errors.New(ended("the command", e.reason, c))
	case *e.code == 0 && e.gaps:
		return exitRunFailed, errors.New("the command succeeded, but some of its output is missing")
	case e.left != "":
		return *e.code, errors.New(ended("what the command left behind", e.left, c))
	}
	return *e.code, nil
}

// exitTimeout is the exit status when the command has taken too long, as with
// timeout(1).
const exitTimeout = 124

// ended says why the executor has ended something.
func ended(what string, reason protocol.EndReason, c *runCommand) string {
	switch reason {
	case protocol.ReasonDeadline:
		return fmt.Sprintf("%s was killed: it had not ended after %v (--timeout)", what, c.Timeout)
	case protocol.ReasonIdle:
		return fmt.Sprintf("%s was killed: it had neither output nor input for %v (--idle-timeout)", what, c.IdleTimeout)
	case protocol.ReasonMemory:
		return fmt.Sprintf("a process of %s was killed: together they went beyond %v of memory (--limit-memory)",
			what, size(c.LimitMemory))
	case protocol.ReasonCPU:
		return fmt.Sprintf("%s was killed: it went beyond %d seconds of processor time (--limit-cpu)", what, c.LimitCPU)
	case protocol.ReasonFileSize:
		return fmt.Sprintf("%s was ended: it wrote a file of more than %v (--limit-file-size)", what, size(c.LimitFileSize))
	case protocol.ReasonTerminated:
		return what + " was terminated by another client"
	case protocol.ReasonOperator:
		return what + " was ended by whoever runs the executor"
	default: // others may be added
		return fmt.Sprintf("%s was ended by the executor: %s", what, reason)
	}
}
