// Package client talks to an executor: it opens a session, starts processes,
// and hands out what they do in order.
//
// [Dial] connects to an executor elsewhere, [Connect] to one inside the program:
// it takes a *server.Server. See the example of [Connect].
//
// All methods may be called by several goroutines, except that one goroutine at
// a time takes the events of a process. A process whose events nobody takes
// holds back the connection once 1 MiB of them waits, and with it the other
// processes and the answers to all calls.
package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Executor runs commands.
type Executor interface {
	// Info describes the executor's host, and what the executor can do.
	Info() *protocol.EnvironmentInfo
	// SessionID is the id by which whoever knows it can resume the session once
	// this connection has ended. It is a secret.
	SessionID() string
	// Start starts a process. The error is a *[protocol.Error] if the executor
	// refused.
	Start(ctx context.Context, params *protocol.StartParams) (*Process, error)
	// Close ends the connection. Processes live on until the session expires,
	// or until an executor in the same program is closed.
	Close() error
}

// Connector opens connections to an executor. *server.Server is one.
type Connector interface {
	Connect(ctx context.Context) (transport.Conn, error)
}

// Options say how to connect. The zero value is fine.
type Options struct {
	// Name labels the client in the executor's logs.
	Name string
	// BearerToken is presented when a WebSocket is opened.
	BearerToken string
}

// ErrDisconnected is what calls and events end with when the connection is
// lost or closed.
var ErrDisconnected = errors.New("disconnected from the executor")

// Dial connects to the executor at a ws:// or wss:// URL and opens a session.
func Dial(ctx context.Context, url string, options Options) (Executor, error) {
	return Connect(ctx, dialer{url, options.BearerToken}, options)
}

type dialer struct{ url, token string }

func (d dialer) Connect(ctx context.Context) (transport.Conn, error) {
	return transport.Dial(ctx, d.url, transport.DialOptions{BearerToken: d.token})
}

// Connect opens a session over a connection of the connector's making.
func Connect(ctx context.Context, connector Connector, options Options) (Executor, error) {
	connecting, cancel := context.WithTimeout(ctx, limits.ConnectTimeout)
	defer cancel()
	conn, err := connector.Connect(connecting)
	if err != nil {
		return nil, fmt.Errorf("connecting to the executor: %w", err)
	}
	e := &executor{processes: map[string]*Process{}}
	e.rpc = rpc.New(conn, e, rpc.Config{Concurrency: limits.ConcurrentRequests, Calls: math.MaxInt})
	e.serving.Go(func() { _ = e.rpc.Serve(context.Background()) })
	if err := e.initialize(ctx, options.Name); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// executor implements [Executor] over any transport, and [rpc.Handler].
type executor struct {
	rpc     *rpc.Conn
	serving sync.WaitGroup
	session protocol.InitializeResult

	mu        sync.Mutex
	processes map[string]*Process // those whose events are still to come
}

func (e *executor) initialize(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, limits.ConnectTimeout)
	defer cancel()
	result, err := call[protocol.InitializeResult](ctx, e, protocol.MethodInitialize,
		&protocol.InitializeParams{ClientName: name})
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	e.session = *result
	err = e.rpc.Notify(func(dst []byte) []byte {
		return protocol.AppendNotification(dst, protocol.NotificationInitialized, struct{}{})
	})
	e.rpc.Flush()
	return err
}

// call makes a request and decodes its result.
func call[R any](ctx context.Context, e *executor, method string, params any) (*R, error) {
	raw, err := e.rpc.Call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result, err := protocol.Decode[R](raw)
	if err != nil {
		return nil, fmt.Errorf("the executor's answer to %s: %w", method, err)
	}
	return &result, nil
}

func (e *executor) Info() *protocol.EnvironmentInfo { return &e.session.EnvironmentInfo }
func (e *executor) SessionID() string               { return e.session.SessionID }

func (e *executor) Close() error {
	e.rpc.Close(ErrDisconnected)
	// The reader may be waiting for somebody to take events.
	e.Gone()
	e.serving.Wait()
	return nil
}

func (e *executor) Start(ctx context.Context, params *protocol.StartParams) (*Process, error) {
	p := newProcess(e, params.ProcessID)
	e.mu.Lock()
	if e.processes[p.id] != nil {
		e.mu.Unlock()
		return nil, fmt.Errorf("starting process %q: the id is in use", p.id)
	}
	// Events may come right behind the answer.
	e.processes[p.id] = p
	e.mu.Unlock()
	result, err := call[protocol.StartResult](ctx, e, protocol.MethodProcessStart, params)
	if err != nil {
		e.forget(p)
		if _, refused := errors.AsType[*protocol.Error](err); !refused {
			e.undo(ctx, p)
		}
		return nil, err
	}
	if result.SandboxType != nil {
		p.sandbox = *result.SandboxType
	}
	return p, nil
}

// undo ends a process of whose start nothing is known: nobody has a handle on it.
func (e *executor) undo(ctx context.Context, p *Process) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, _ = p.Terminate(ctx)
}

// undoTimeout bounds undo.
const undoTimeout = time.Second

func (e *executor) forget(p *Process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.processes[p.id] == p {
		delete(e.processes, p.id)
	}
}

func (e *executor) find(id string) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.processes[id]
}

// Handshaking implements [rpc.Handler].
func (*executor) Handshaking() bool { return false }

// Lane implements [rpc.Handler]: an executor may ask us for nothing yet.
func (*executor) Lane(string) rpc.Lane { return rpc.LaneNone }

// Begin implements [rpc.Handler].
func (*executor) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound,
		"this client does not implement `%s`", r.Method)}
}

// Notification implements [rpc.Handler]. What is not about a process of ours is
// ignored: executors may tell more than we know of.
func (e *executor) Notification(_ context.Context, method string, params jsontext.Value) error {
	switch method {
	case protocol.NotificationProcessOutput:
		return deliver(e, params, func(n *protocol.OutputNotification) (string, Event) {
			return n.ProcessID, Event{Kind: Output, Seq: n.Seq, Stream: n.Stream, Data: n.Chunk}
		})
	case protocol.NotificationProcessExited:
		return deliver(e, params, func(n *protocol.ExitedNotification) (string, Event) {
			return n.ProcessID, Event{
				Kind: Exited, Seq: n.Seq, ExitCode: int(n.ExitCode), SandboxDenied: n.SandboxDenied,
			}
		})
	case protocol.NotificationProcessClosed:
		return deliver(e, params, func(n *protocol.ClosedNotification) (string, Event) {
			return n.ProcessID, Event{Kind: Closed, Seq: n.Seq}
		})
	}
	return nil
}

// deliver decodes a notification and hands its event to the process.
func deliver[N any](e *executor, params jsontext.Value, convert func(*N) (string, Event)) error {
	n, err := protocol.Decode[N](params)
	if err != nil {
		return fmt.Errorf("a notification of the executor: %w", err)
	}
	id, event := convert(&n)
	if p := e.find(id); p != nil {
		return p.events.put(event)
	}
	return nil
}

// Gone implements [rpc.Handler].
func (e *executor) Gone() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.processes {
		p.events.end(ErrDisconnected)
	}
}
