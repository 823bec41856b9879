package watch

import (
	"context"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/files/glob"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Config is what the watches of a connection are made of.
type Config struct {
	// Budget is that of the executor.
	Budget *Budget
	// MissingChanged and Changed queue a notification. They wait while the client
	// is slow, and fail when the connection is over.
	MissingChanged func(*protocol.MissingChangedNotification) error
	Changed        func(*protocol.ChangedNotification) error
}

// Watches are the watches of one connection. Its methods may be called at the same
// time.
type Watches struct {
	config      Config
	directories int           // bounds each watch
	pending     int           // bytes of changes of each that may wait
	window      time.Duration // how long they are gathered
	turn        chan struct{} // holds a token while a watch of what is missing is made

	running sync.WaitGroup // calls and goroutines

	mu      sync.Mutex // guards what follows
	closed  bool
	hub     *hub // nil until it is needed
	cancels map[uint64]context.CancelFunc
	next    uint64 // key in cancels
	watches map[string]*watch
	missing *missing // may have told
	lastID  uint64   // of a watch of what is missing
}

// New returns no watches yet. Close must be called at the end of the connection.
func New(config Config) *Watches {
	return &Watches{
		config:      config,
		directories: limits.DirectoriesPerWatch,
		pending:     limits.WatchPendingBytes,
		window:      limits.WatchWindow,
		turn:        make(chan struct{}, 1),
		cancels:     map[uint64]context.CancelFunc{},
		watches:     map[string]*watch{},
	}
}

// Close ends all watches, and calls that are being made, and waits for them. What
// the configuration says is called must not wait any more by then. Nothing is
// notified afterwards.
func (ws *Watches) Close() {
	ws.mu.Lock()
	again := ws.closed
	ws.closed = true
	for _, cancel := range ws.cancels {
		cancel()
	}
	ws.mu.Unlock()
	ws.running.Wait()
	if !again && ws.hub != nil {
		ws.config.Budget.release()
	}
}

var errClosed = protocol.Errorf(protocol.CodeInternal, "the connection has ended")

// enter returns a context that ends with Close, too, which waits until leave is
// called.
func (ws *Watches) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		return nil, nil, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	key := ws.next
	ws.next++
	ws.cancels[key] = cancel
	ws.running.Add(1)
	return ctx, func() {
		cancel()
		ws.mu.Lock()
		delete(ws.cancels, key)
		ws.mu.Unlock()
		ws.running.Done()
	}, nil
}

// acquire returns the hub, which is then kept until Close.
func (ws *Watches) acquire() (*hub, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.hub == nil {
		h, err := ws.config.Budget.acquire()
		if err != nil {
			return nil, err
		}
		ws.hub = h
	}
	return ws.hub, nil
}

// Watch answers airlock/fsWatch. It looks at a whole tree, which may take its time.
// What happens after it has returned is told once begin has been called, which must
// be when the answer has been queued.
func (ws *Watches) Watch(ctx context.Context, p *protocol.WatchParams) (result *protocol.WatchResult, begin func(), err error) {
	w, err := ws.newWatch(p)
	if err != nil {
		return nil, nil, err
	}
	run, leave, err := ws.enter(context.WithoutCancel(ctx))
	if err != nil {
		return nil, nil, err
	}
	run, w.cancel = context.WithCancel(run)
	end := func() {
		w.cancel()
		ws.forget(w)
		close(w.done)
		leave()
	}
	if err := ws.start(ctx, run, w); err != nil {
		end()
		return nil, nil, err
	}
	go func() {
		defer end()
		w.run(run, ws.config.Changed)
	}()
	return &protocol.WatchResult{}, w.begin, nil
}

// newWatch judges what a client asks for.
func (ws *Watches) newWatch(p *protocol.WatchParams) (*watch, error) {
	if p.WatchID == "" || len(p.WatchID) > limits.WatchIDBytes {
		return nil, protocol.Errorf(protocol.CodeInvalidParams,
			"watchId must have 1 to %d bytes, not %d", limits.WatchIDBytes, len(p.WatchID))
	}
	filter, err := glob.Compile(p.Include, p.Exclude)
	if err != nil {
		return nil, err
	}
	if sandbox.Confines(p.Sandbox, sandbox.Read) {
		// The system tells of changes to who watches, whatever he may read.
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "a watch can't be confined by a `sandbox` that restricts reading: "+
			"watch without one, or list the directory from time to time")
	}
	path, err := fault.Native(p.Path)
	if err != nil {
		return nil, err
	}
	w := &watch{
		id:    p.WatchID,
		path:  path,
		in:    newInbox(),
		out:   newOutbox(ws.pending, &ws.config.Budget.pending),
		begun: make(chan struct{}),
		done:  make(chan struct{}),

		window: ws.window,
	}
	w.begin = sync.OnceFunc(func() { close(w.begun) })
	w.tree = tree{in: w.in, out: w.out, recursive: p.Recursive, filter: filter, most: ws.directories}
	return w, nil
}

// start has a watch watch, unless one of the contexts ends before: that of the call
// or that of the watch.
func (ws *Watches) start(ctx, run context.Context, w *watch) error {
	stay := context.AfterFunc(ctx, w.cancel)
	defer stay()
	if err := ws.reserve(run, w); err != nil {
		return err
	}
	h, err := ws.acquire()
	if err != nil {
		return err
	}
	if err := w.open(run, h); err != nil {
		return err
	}
	if !stay() {
		w.release()
		return context.Cause(ctx)
	}
	return nil
}

// reserve takes an id for a watch. One that has ended, and tells of that just now,
// has it until it has done so.
func (ws *Watches) reserve(ctx context.Context, w *watch) error {
	for {
		old, err := ws.claim(w)
		switch {
		case old == nil:
			return err
		case !old.out.hasEnded():
			return protocol.Errorf(protocol.CodeInvalidRequest, "there is a watch %q already; choose another watchId, or end it", w.id)
		case !wait(ctx, old.done):
			return context.Cause(ctx)
		}
	}
}

// claim enters a watch under its id, or returns the one that has it.
func (ws *Watches) claim(w *watch) (old *watch, err error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if old := ws.watches[w.id]; old != nil {
		return old, nil
	}
	if len(ws.watches) >= limits.Watches {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"there are %d watches on this connection, as many as may be; end one", limits.Watches)
	}
	ws.watches[w.id] = w
	return nil, nil
}

// forget gives an id back.
func (ws *Watches) forget(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.watches[w.id] == w {
		delete(ws.watches, w.id)
	}
}

// Unwatch answers airlock/fsUnwatch. It waits while a notification of the watch is
// being queued.
func (ws *Watches) Unwatch(ctx context.Context, p *protocol.UnwatchParams) (*protocol.UnwatchResult, error) {
	ctx, leave, err := ws.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ws.mu.Lock()
	w := ws.watches[p.WatchID]
	ws.mu.Unlock()
	if w == nil {
		return &protocol.UnwatchResult{}, nil
	}
	watching := !w.out.hasEnded()
	w.cancel()
	if !wait(ctx, w.done) {
		return nil, context.Cause(ctx)
	}
	return &protocol.UnwatchResult{Watching: watching}, nil
}
