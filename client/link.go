package client

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// link is one connection of an executor. It implements [rpc.Handler].
type link struct {
	executor *executor
	rpc      *rpc.Conn
	over     <-chan struct{} // closed when nothing more can be sent

	// ready is closed when the executor has answered to initialize, and
	// session set. Notifications of a session that is resumed may come before.
	ready   chan struct{}
	session protocol.InitializeResult
	// paced: the executor sends no more of a process than was granted, so that
	// what comes never has to wait. Otherwise it may, once ready is closed.
	paced, mayWait atomic.Bool

	serving sync.WaitGroup
	ended   chan struct{} // closed when the connection is over, and err set
	err     error

	grants *grants
}

func newLink(e *executor, conn transport.Conn) *link {
	l := &link{
		executor: e, over: conn.Done(),
		ready: make(chan struct{}), ended: make(chan struct{}),
		grants: newGrants(),
	}
	l.rpc = rpc.New(conn, l, rpc.Config{
		Concurrency: limits.ConcurrentRequests, Calls: math.MaxInt, Strict: true,
	})
	return l
}

// serve runs the connection in the background until it ends, or ctx.
func (l *link) serve(ctx context.Context) {
	l.serving.Go(func() {
		l.err = l.rpc.Serve(ctx)
		if l.err == nil {
			l.err = transport.ErrClosed
		}
		l.executor.streams.cut(l)
		close(l.ended)
	})
	l.serving.Go(l.pace)
}

// isOver tells whether all that came over the connection has been handed on, and
// nothing will come any more.
func (l *link) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// close ends the connection and waits until nothing of it is left.
func (l *link) close(reason error) {
	l.rpc.Close(reason)
	l.serving.Wait()
}

// handshake opens a session, or resumes one.
func (l *link) handshake(ctx context.Context, params *protocol.InitializeParams) error {
	ctx, cancel := context.WithTimeout(ctx, limits.ConnectTimeout)
	defer cancel()
	result, _, err := ask[protocol.InitializeResult](ctx, l, protocol.MethodInitialize, params)
	if err != nil {
		return classify(err)
	}
	l.session = *result
	paced := hasFeature(&result.EnvironmentInfo, protocol.FeatureProcessWindow)
	l.paced.Store(paced)
	l.mayWait.Store(!paced)
	close(l.ready)
	err = l.rpc.Notify(func(dst []byte) []byte {
		return protocol.AppendNotification(dst, protocol.NotificationInitialized, struct{}{})
	})
	l.rpc.Flush()
	return err
}

func hasFeature(info *protocol.EnvironmentInfo, name string) bool {
	return info.Airlock != nil && slices.Contains(info.Airlock.Features, name)
}

// Handshaking implements [rpc.Handler].
func (*link) Handshaking(string) bool { return false }

// Lane implements [rpc.Handler]: an executor may ask us for nothing yet.
func (*link) Lane(string) rpc.Lane { return rpc.LaneNone }

// Begin implements [rpc.Handler].
func (*link) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound,
		"this client does not implement `%s`", r.Method)}
}

// Gone implements [rpc.Handler].
func (*link) Gone() {}

// Notification implements [rpc.Handler]. What is not about something of ours is
// ignored: executors may tell more than we know of.
func (l *link) Notification(ctx context.Context, method string, params jsontext.Value) error {
	switch method {
	case protocol.NotificationProcessOutput:
		return deliver(l, params, func(n *protocol.OutputNotification) (string, Event, *protocol.EventExtra) {
			return n.ProcessID, Event{Kind: Output, Seq: n.Seq, Stream: n.Stream, Data: n.Chunk}, n.Airlock
		})
	case protocol.NotificationProcessExited:
		return deliver(l, params, func(n *protocol.ExitedNotification) (string, Event, *protocol.EventExtra) {
			return n.ProcessID, Event{
				Kind: Exited, Seq: n.Seq, ExitCode: int(n.ExitCode), SandboxDenied: n.SandboxDenied,
				Reason: reason(n.Airlock), Denials: denials(n.Airlock), SetupError: setupError(n.Airlock),
			}, n.Airlock
		})
	case protocol.NotificationProcessClosed:
		return deliver(l, params, func(n *protocol.ClosedNotification) (string, Event, *protocol.EventExtra) {
			return n.ProcessID, Event{Kind: Closed, Seq: n.Seq, Reason: reason(n.Airlock)}, n.Airlock
		})
	case protocol.NotificationMissingChanged:
		return decoded(params, l.executor.missing.changed)
	case protocol.NotificationChanged:
		return decoded(params, l.executor.watchers.changed)
	case protocol.NotificationHTTPBodyDelta:
		return decoded(params, func(n *protocol.HTTPBodyDeltaNotification) { l.executor.streams.arrive(ctx, n) })
	}
	return nil
}

// decoded decodes a notification and hands it on.
func decoded[N any](params jsontext.Value, hand func(*N)) error {
	n, err := protocol.Decode[N](params)
	if err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	hand(&n)
	return nil
}

func reason(extra *protocol.EventExtra) protocol.EndReason {
	if extra == nil {
		return ""
	}
	return extra.Reason
}

func denials(extra *protocol.EventExtra) []protocol.Denial {
	if extra == nil {
		return nil
	}
	return extra.Denials
}

func setupError(extra *protocol.EventExtra) *protocol.SetupError {
	if extra == nil {
		return nil
	}
	return extra.SetupError
}

// deliver decodes a notification and hands its event to the process.
func deliver[N any](l *link, params jsontext.Value, convert func(*N) (string, Event, *protocol.EventExtra)) error {
	n, err := protocol.Decode[N](params)
	if err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	id, event, extra := convert(&n)
	if p := l.executor.find(id); p != nil {
		over, err := p.inbox.put(l, numbered(event, l), extra)
		if over {
			l.executor.forget(p)
		}
		return err
	}
	if !l.mayWait.Load() {
		l.grants.pass(id, &event)
	}
	return nil
}

// pace sends the grants until the connection is over, if the executor wants any.
func (l *link) pace() {
	select {
	case <-l.ready:
	case <-l.ended:
		return
	}
	for l.paced.Load() {
		select {
		case <-l.grants.work:
		case <-l.ended:
			return
		}
		for id, bytes := range l.grants.take() {
			// On a connection that is over nothing need be granted.
			_ = l.rpc.Notify(func(dst []byte) []byte {
				return protocol.AppendNotification(dst, protocol.NotificationProcessWindow,
					&protocol.ProcessWindowNotification{ProcessID: id, Bytes: bytes})
			})
		}
		l.rpc.Flush()
	}
}
