package client

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/control"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// ControlSockets returns the control sockets of this user's executors on this
// machine, as far as they are where executors make them by default. If there is
// an error, some folder could not be looked at; what has been found is returned
// all the same.
func ControlSockets() ([]string, error) { return control.Find() }

// ControlSocket returns what connects to an executor by its control socket: as a
// client, who can resume any session that [Control.Sessions] tells of.
func ControlSocket(path string) Connector { return controlSocket(path) }

type controlSocket string

func (s controlSocket) Connect(ctx context.Context) (transport.Conn, error) {
	return control.Dial(ctx, string(s))
}

// Control is a connection to the control socket of an executor. By it whoever runs
// the executor looks at the sessions of all clients, and ends them. It has no
// session, is not made again when it is lost, and may be used by several
// goroutines. What the executor has answered is a *[protocol.Error], in
// [ErrSessionLost] if there is no such session and in [ErrUnknownProcess] if there
// is no such process; everything else ends with [ErrDisconnected] when the
// connection does.
type Control struct {
	rpc   *rpc.Conn
	ended chan struct{} // closed when the connection is over, and err set
	err   error
	owned sync.WaitGroup
}

// DialControl connects to the control socket of an executor, which must belong to
// this user. The context bounds no more than that.
func DialControl(ctx context.Context, path string) (*Control, error) {
	conn, err := control.Dial(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &Control{ended: make(chan struct{})}
	c.rpc = rpc.New(conn, controlHandler{}, rpc.Config{Concurrency: 1, Calls: math.MaxInt})
	life := context.WithoutCancel(ctx)
	c.owned.Go(func() {
		c.err = c.rpc.Serve(life)
		close(c.ended)
	})
	return c, nil
}

// Close ends the connection.
func (c *Control) Close() error {
	c.rpc.Close(transport.ErrClosed)
	c.owned.Wait()
	return nil
}

// Sessions tells of the executor, and of all its sessions in the order of their
// making. Their ids give access to them.
func (c *Control) Sessions(ctx context.Context) (*protocol.SessionListResult, error) {
	return operate[protocol.SessionListResult](ctx, c, protocol.MethodSessionList, struct{}{})
}

// Processes lists the processes of a session in the order of their starts, those
// that have closed and are not forgotten included; usage asks also for what they
// use, which takes a while.
func (c *Control) Processes(ctx context.Context, sessionID string, usage bool) ([]protocol.ProcessInfo, error) {
	var all []protocol.ProcessInfo
	for after := uint64(0); ; {
		page, err := operate[protocol.ListResult](ctx, c, protocol.MethodProcessList,
			&protocol.ListParams{SessionID: &sessionID, After: after, Usage: usage})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Processes...)
		if page.Next <= after {
			return all, nil
		}
		after = page.Next
	}
}

// Observe reads the output of any process, without any effect on its client; see
// [protocol.ObserveParams].
func (c *Control) Observe(ctx context.Context, params protocol.ObserveParams) (*protocol.ReadResult, error) {
	return operate[protocol.ReadResult](ctx, c, protocol.MethodObserve, &params)
}

// Events returns the events of any process as [Process.Events] does, without any
// effect on its client. Its output comes at 8 MiB in a second at most while it
// runs, and at 1 MiB if even so some has been dropped, which [Gap] events tell.
func (c *Control) Events(ctx context.Context, sessionID, processID string, afterSeq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		order := newSequence(afterSeq)
		for !order.closed {
			result, err := c.poll(ctx, sessionID, processID, order.last)
			if err != nil {
				yield(Event{}, err)
				return
			}
			order.read(result, len(result.Chunks) == 0)
			for i, ok := order.next(); ok; i, ok = order.next() {
				if !yield(i.Event, nil) {
					return
				}
			}
		}
	}
}

// poll observes what comes after a number, and waits for it.
func (c *Control) poll(ctx context.Context, sessionID, processID string, after uint64) (*protocol.ReadResult, error) {
	params := protocol.ObserveParams{
		SessionID: sessionID, ProcessID: processID, AfterSeq: &after,
		WaitMs: new(uint64(pollTime.Milliseconds())),
	}
	for {
		result, err := c.Observe(ctx, params)
		if !isStarting(err) {
			return result, err
		}
		select {
		case <-time.After(startingPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TerminateSession ends a session, with the connection of its client and all
// processes: they get SIGTERM, and SIGKILL after the grace, which is at most an
// hour. It returns who is dead and who does not die. If ctx ends first the
// processes end all the same, but the session may not.
func (c *Control) TerminateSession(ctx context.Context, sessionID string, grace time.Duration) (*protocol.SessionTerminateResult, error) {
	return c.terminate(ctx, &protocol.SessionTerminateParams{SessionID: sessionID}, grace)
}

// TerminateProcess does the same to one process, and all that it has started; the
// session goes on.
func (c *Control) TerminateProcess(ctx context.Context, sessionID, processID string, grace time.Duration) (*protocol.SessionTerminateResult, error) {
	return c.terminate(ctx, &protocol.SessionTerminateParams{SessionID: sessionID, ProcessID: &processID}, grace)
}

func (c *Control) terminate(ctx context.Context, params *protocol.SessionTerminateParams, grace time.Duration) (*protocol.SessionTerminateResult, error) {
	params.GraceMs = uint64(max(grace, 0).Milliseconds())
	return operate[protocol.SessionTerminateResult](ctx, c, protocol.MethodSessionTerminate, params)
}

// operate makes a request and decodes the answer.
func operate[R any](ctx context.Context, c *Control, method string, params any) (*R, error) {
	if _, err := protocol.Encode(params); err != nil {
		return nil, fmt.Errorf("calling %s: %w", method, err)
	}
	raw, err := c.rpc.Call(ctx, method, params)
	switch {
	case err == nil:
	case refusal(err) != nil && !c.isEnding(refusal(err)):
		return nil, classify(err)
	case ctx.Err() != nil:
		return nil, err
	default:
		return nil, c.lost(err)
	}
	result, err := protocol.Decode[R](raw)
	if err != nil {
		// Not an error that the executor answered.
		return nil, fmt.Errorf("the executor's answer to %s makes no sense: %s", method, err.Error())
	}
	return &result, nil
}

// endingTime is how long the end of an executor may take to be noticed.
const endingTime = 200 * time.Millisecond

// isEnding tells whether the executor has answered so because it shuts down: what
// waits is answered with an internal error, right before the end.
func (c *Control) isEnding(refused *protocol.Error) bool {
	if refused.Code != protocol.CodeInternal {
		return false
	}
	select {
	case <-c.ended:
		return true
	case <-time.After(endingTime):
		return false
	}
}

// lost returns why there is no connection any more, which who reads knows best.
func (c *Control) lost(err error) error {
	c.rpc.Close(err)
	<-c.ended
	if c.err != nil {
		err = c.err
	}
	return fmt.Errorf("%w: %w", ErrDisconnected, err)
}

// controlHandler implements [rpc.Handler]: an executor asks nothing of us.
type controlHandler struct{}

func (controlHandler) Handshaking(string) bool { return false }
func (controlHandler) Lane(string) rpc.Lane    { return rpc.LaneNone }
func (controlHandler) Gone()                   {}

func (controlHandler) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound, "this client does not implement `%s`", r.Method)}
}

func (controlHandler) Notification(context.Context, string, jsontext.Value) error { return nil }
