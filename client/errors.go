package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coder/websocket"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Errors to branch on. What an executor answered is a *[protocol.Error], also
// inside of these.
var (
	// ErrDisconnected is what calls and events end with when the executor has
	// been closed, or could not be reached again in time.
	ErrDisconnected = errors.New("disconnected from the executor")
	// ErrSessionLost: the executor does not know the session (any more), and
	// its processes are gone; or another client has taken it over; or whoever
	// runs the executor has ended it.
	ErrSessionLost = errors.New("the session is lost")
	// ErrOutcomeUnknown: the connection was lost before the answer came, and it
	// would not be right to ask twice.
	ErrOutcomeUnknown = errors.New("the connection was lost before the answer came: it may have been done or not")
	// ErrUnknownProcess: the executor has no process of that id, or has
	// forgotten it some time after it closed.
	ErrUnknownProcess = errors.New("unknown process")
	// ErrProcessExists: the id is taken by a process that the executor has not
	// forgotten yet.
	ErrProcessExists = errors.New("the process id is in use")
	// ErrStdinClosed: the process has no standard input that can be written to.
	ErrStdinClosed = errors.New("standard input is closed")
)

// Beginnings and ends of the texts by which the dialect tells errors apart that
// have the same code.
const (
	textUnknownSession = "unknown session id "
	textUnknownProcess = "unknown process id "
	textExists         = " already exists"
	textStarting       = " is starting"
)

// refusal returns the executor's own error in err, or nil.
func refusal(err error) *protocol.Error {
	refused, _ := errors.AsType[*protocol.Error](err)
	return refused
}

// classify adds to an answered error what it is by name.
func classify(err error) error {
	refused := refusal(err)
	if refused == nil || refused.Code != protocol.CodeInvalidRequest {
		return err
	}
	switch {
	case strings.HasPrefix(refused.Message, textUnknownSession):
		return fmt.Errorf("%w: %w", ErrSessionLost, err)
	case strings.HasPrefix(refused.Message, textUnknownProcess):
		return fmt.Errorf("%w: %w", ErrUnknownProcess, err)
	case strings.HasSuffix(refused.Message, textExists):
		return fmt.Errorf("%w: %w", ErrProcessExists, err)
	}
	return err
}

// isStarting tells whether a process can't be asked yet.
func isStarting(err error) bool {
	refused := refusal(err)
	return refused != nil && refused.Code == protocol.CodeInvalidRequest &&
		strings.HasSuffix(refused.Message, textStarting)
}

// saidGoodbye tells whether the executor has ended the connection on purpose,
// and whether because it shuts down.
func saidGoodbye(err error) (goodbye, forGood bool) {
	switch {
	case errors.Is(err, transport.ErrGoingAway):
		return true, true
	case err == transport.ErrClosed: // in process, where nothing gets lost
		return true, false
	}
	status := websocket.CloseStatus(err)
	return status >= 0, status == websocket.StatusGoingAway
}
