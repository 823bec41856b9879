package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spare"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// Lane is where a request waits for its turn.
type Lane int

// Lanes.
const (
	// LaneNone is for methods that do not exist: they are answered at once.
	LaneNone Lane = iota
	// LaneOrdinary is for most methods.
	LaneOrdinary
	// LaneControl is for the few that must get through while others work.
	LaneControl
)

// Request is what a [Handler] gets to see of a request.
type Request struct {
	Method string
	// Params are valid until Begin has returned: what is large is used again.
	Params jsontext.Value
	Trace  Trace
	// Hurry is closed when the peer has stopped sending but still reads: what
	// only waits for news shall answer with what there is.
	Hurry <-chan struct{}
}

// Reply is the outcome of a request, or a promise of one.
type Reply struct {
	// Result is encoded as by [protocol.Encode], unless it is an [AppendFunc];
	// Err, if set, goes in its place.
	Result any
	Err    error
	// Sent, if set, is called once after the answer has been queued or, if it is
	// larger than limits.FrameBytes, written; or when it can't be queued any more.
	Sent func()
	// Wait, if set, is called for the outcome, and the fields above are unused.
	// What it returns may have one again.
	Wait func(ctx context.Context) Reply
	// Parked lets the next request begin while Wait runs: it holds next to
	// nothing. What takes memory belongs into a second Wait.
	Parked bool
	// Full, if set, is called for the outcome in place of Wait if too much is
	// parked. Without it, the request waits in its lane.
	Full func() Reply
}

// Handler does what a peer asks for.
type Handler interface {
	// Handshaking tells whether messages are still handled one by one; requests
	// of some methods may be exempt.
	Handshaking(method string) bool
	// Lane says where requests of a method wait. It is called for each one.
	Lane(method string) Lane
	// Begin starts a request. Within a lane it is called in order of arrival,
	// and the next call is made when it has returned.
	Begin(ctx context.Context, request Request) Reply
	// Notification is called in order of arrival. An error ends the connection.
	// The memory of params is reused after it has returned.
	Notification(ctx context.Context, method string, params jsontext.Value) error
	// Gone is called once, when nothing can be sent any more. Requests may
	// still be under way; their context has ended.
	Gone()
}

// Config is how a connection is run.
type Config struct {
	// Concurrency is how many requests of a lane may be under way: 1 to
	// limits.ConcurrentRequests. With 1 there is only one lane.
	Concurrency int
	// Calls bounds our own requests in flight.
	Calls int
	// Strict ends the connection with [ErrUnreadable] over what is no message,
	// in place of answering that with an error.
	Strict bool
	// DrainTimeout bounds how long what is under way is still answered when
	// the peer has stopped sending, or has broken the rules.
	DrainTimeout time.Duration
	// StallTimeout is how long the peer may take nothing of what is sent to it
	// before Stalled is called with true; with false when it has taken
	// something since. Calls come one at a time. 0 means that nobody looks.
	StallTimeout time.Duration
	Stalled      func(stalled bool)
	// StallDrop is the same until the connection is closed; 0 means never.
	StallDrop time.Duration
}

// Conn is one connection.
type Conn struct {
	transport transport.Conn
	handler   Handler
	config    Config
	out       *outgoing
	stall     *stallWatch
	calls     *calls
	parked    parking
	params    spare.Buffers // of requests that have begun
	answering chan struct{} // a place for each of these that makes its answer
	hurry     chan struct{} // closed when there is nothing more to wait for
}

// New makes a connection; nothing happens on it before [Conn.Serve].
func New(t transport.Conn, h Handler, config Config) *Conn {
	config.Concurrency = min(max(config.Concurrency, 1), limits.ConcurrentRequests)
	c := &Conn{
		transport: t, handler: h, config: config,
		out: newOutgoing(t), calls: newCalls(config.Calls),
		answering: make(chan struct{}, limits.ParkedAnswers),
		hurry:     make(chan struct{}),
	}
	c.stall = newStallWatch(c)
	c.out.began = c.stall.began
	return c
}

// Notify queues the message that build appends to an empty buffer, which must
// be a whole notification. It waits while the queue is full, and fails when the
// connection is over. [Conn.Flush] must follow when there is no more to queue.
func (c *Conn) Notify(build func(dst []byte) []byte) error {
	return c.out.add(context.Background(), build(c.out.buffer()), later)
}

// NotifyLarge is Notify for a message of hundreds of kilobytes, whose memory is
// kept for the next one.
func (c *Conn) NotifyLarge(build func(dst []byte) []byte) error {
	return c.out.add(context.Background(), build(c.out.largeBuffer()), later)
}

// Flush has everything written that has been queued.
func (c *Conn) Flush() { c.out.flush() }

// Probe finds out whether the peer is still there, and ends the connection if
// it is not.
func (c *Conn) Probe() { c.transport.Probe() }

// Close ends the connection at once.
func (c *Conn) Close(reason error) {
	c.out.fail(reason)
	c.transport.Close(reason)
}

// Serve runs the connection until it ends and returns why: nil when the peer
// stopped sending and everything under way has been answered. Requests get a
// context that ends with the connection and carries the values of ctx; when ctx
// ends, so does the connection.
func (c *Conn) Serve(ctx context.Context) error {
	requests, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { c.Close(context.Cause(ctx)) })
	defer stop()

	lanes := c.startLanes(requests)
	var writer sync.WaitGroup
	writer.Go(func() {
		// A peer that can't be written to is gone.
		c.transport.Close(c.out.run())
		cancel(transport.ErrClosed)
		lanes.finish()
	})
	// Who waits for room to read on does not see the connection's end.
	writer.Go(func() {
		<-c.transport.Done()
		c.out.fail(transport.ErrClosed)
	})

	err := c.read(requests, lanes)
	if err == io.EOF || errors.Is(err, transport.ErrViolation) {
		c.drain(err, lanes, &writer)
	}
	reason := err
	if err == io.EOF {
		err, reason = nil, transport.ErrClosed
	}
	cancel(reason)
	c.Close(reason)
	c.stall.stop()
	c.calls.close(reason)
	c.handler.Gone()
	lanes.finish()
	lanes.wait()
	writer.Wait()
	c.out.large.Close()
	c.params.Close()
	return err
}

// drain lets what the peer has asked for be answered, for a while.
func (c *Conn) drain(why error, lanes *lanes, writer *sync.WaitGroup) {
	close(c.hurry)
	timeout := time.AfterFunc(c.config.DrainTimeout, func() { c.Close(transport.ErrClosed) })
	defer timeout.Stop()
	lanes.finish()
	lanes.wait()
	c.out.finish(why)
	writer.Wait()
}

// read takes messages from the transport until it ends.
func (c *Conn) read(ctx context.Context, lanes *lanes) error {
	for {
		data, err := c.transport.Read()
		if err != nil {
			return err
		}
		if err := c.receive(ctx, lanes, data); err != nil {
			return err
		}
	}
}

// receive handles one message, or puts it where it waits for its turn.
func (c *Conn) receive(ctx context.Context, lanes *lanes, data []byte) error {
	m, err := Parse(data)
	if err == nil && m.Kind == KindResponse {
		m.Result = bytes.Clone(m.Result)
		if !c.calls.answer(m) {
			return transport.ErrViolation
		}
		return nil
	}
	if err == nil && m.Kind == KindNotification {
		return c.handler.Notification(ctx, m.Method, m.Params)
	}

	if err != nil {
		switch {
		case c.calls.refuse(data, err):
			return nil
		case c.config.Strict:
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}

	waiting := item{size: len(data)}
	lane := LaneNone
	if err != nil {
		waiting.id = parseErrorID
		waiting.err = protocol.Errorf(protocol.CodeInvalidRequest,
			"failed to parse %s: %v", c.transport.Origin(), err)
	} else {
		waiting.id = m.ID
		waiting.request = Request{Method: m.Method, Params: m.Params, Trace: m.Trace, Hurry: c.hurry}
		lane = c.handler.Lane(m.Method)
	}
	if c.handler.Handshaking(m.Method) || lane == LaneNone && c.config.Concurrency > 1 {
		c.finish(ctx, waiting.id, c.begin(ctx, waiting))
	} else {
		c.wait(lanes.of(lane), waiting)
	}
	return nil
}

// ErrUnreadable ends a connection whose peer has sent what is no message.
var ErrUnreadable = errors.New("a message makes no sense")

// errPaused ends a connection that has sent more than can be taken.
var errPaused = errors.New("the requests sent can't be taken, as what they ask for does not get on")

// wait puts a request into a lane. While there is no room nothing is read, also
// not that the peer is gone, which therefore must not last.
func (c *Conn) wait(l *lane, waiting item) {
	if !l.hasRoom(waiting.size) {
		paused := time.AfterFunc(limits.PauseTimeout, func() { c.Close(errPaused) })
		defer paused.Stop()
		l.awaitRoom(waiting.size)
	}
	// The transport is going to overwrite them.
	waiting.request.Params = c.copyParams(waiting.request.Params)
	l.add(waiting)
}

// copyParams copies parameters for as long as their request waits.
func (c *Conn) copyParams(params jsontext.Value) jsontext.Value {
	if len(params) <= pooledBytes {
		return bytes.Clone(params)
	}
	return append(c.params.Take(), params...)
}

// beginWaiting begins what waited, whose parameters are no longer needed then.
func (c *Conn) beginWaiting(ctx context.Context, waiting item) Reply {
	reply := c.begin(ctx, waiting)
	if cap(waiting.request.Params) > pooledBytes {
		c.params.Keep(waiting.request.Params)
	}
	return reply
}

func (c *Conn) begin(ctx context.Context, asked item) Reply {
	if asked.err != nil {
		return Reply{Err: asked.err}
	}
	return c.handler.Begin(ctx, asked.request)
}

// finish waits for the outcome of a request and sends the answer.
func (c *Conn) finish(ctx context.Context, id ID, reply Reply) {
	c.answer(id, outcome(ctx, reply), now)
}

// outcome waits for the outcome of a request, if there is none yet.
func outcome(ctx context.Context, reply Reply) Reply {
	for reply.Wait != nil {
		reply = reply.Wait(ctx)
	}
	return reply
}

func (c *Conn) answer(id ID, reply Reply, when urgency) {
	if reply.Sent != nil {
		defer reply.Sent()
	}
	buffer := c.out.buffer
	if _, large := reply.Result.(AppendFunc); large {
		buffer = c.out.largeBuffer
	}
	// A queue that is over answers nobody: the connection ends by itself.
	_ = c.out.add(context.Background(), appendAnswer(buffer(), id, reply), when)
}
