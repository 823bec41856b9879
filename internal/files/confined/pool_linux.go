package confined

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// Pool is the workers of an executor. Its owner has to close it.
type Pool struct {
	resolve func(*protocol.SandboxContext) (*sandbox.Plan, error)
	start   starter
	log     *slog.Logger
	era     func() uint64 // about what is mounted on the host
	end     func()        // ends what the pool has besides workers
	// Those of package limits, but for tests.
	most                    int
	idle, waiting, patience time.Duration

	run     func(*worker, *sandbox.Plan) // runs a worker until it has ended
	stop    func()                       // ends what run does
	running sync.WaitGroup               // workers, and operations that have been given up

	mu      sync.Mutex
	closed  bool            // guarded by mu
	workers map[key]*worker // guarded by mu; those that take operations
	alive   int             // guarded by mu; workers that have not ended
	leaving int             // guarded by mu; those that have been told to
	changed chan struct{}   // guarded by mu; closed when there may be room
}

// New returns a pool without workers.
func New(c Config) *Pool {
	l := &launcher{Config: c, env: environment(c.Env)}
	eras := &eras{}
	guarded := c.Guarded
	if guarded == nil {
		guarded = func() []string { return nil }
	}
	p := newPool(l, func(s *protocol.SandboxContext) (*sandbox.Plan, error) {
		if c.Backend == nil {
			return nil, errNoSandbox()
		}
		return sandbox.Resolve(sandbox.Request{
			Context: s, Dir: c.Dir, Env: l.env, Readable: itself(), Guarded: guarded(), Files: true,
		}, sandbox.OS())
	}, eras.now)
	p.end = func() { l.close(); eras.close() }
	if c.Logger != nil {
		p.log = c.Logger
	}
	return p
}

func newPool(start starter, resolve func(*protocol.SandboxContext) (*sandbox.Plan, error), era func() uint64) *Pool {
	p := &Pool{
		start: start, resolve: resolve, era: era,
		end: func() {}, log: slog.New(slog.DiscardHandler),
		most: limits.FileWorkers, idle: limits.FileWorkerIdle,
		waiting: limits.FileWorkerWait, patience: limits.FileWorkerPatience,
		workers: map[key]*worker{}, changed: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.run = func(w *worker, plan *sandbox.Plan) { w.run(ctx, plan) }
	return p
}

// environment returns what a worker gets of an environment.
func environment(env []string) (kept []string) {
	for _, name := range []string{"PATH", "TMPDIR", "TMP", "TEMP"} {
		// The last one counts, as everywhere.
		for _, entry := range slices.Backward(env) {
			if strings.HasPrefix(entry, name+"=") {
				kept = append(kept, entry)
				break
			}
		}
	}
	return kept
}

// Close kills all workers and waits until they have ended. Operations fail.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.running.Wait()
		return
	}
	p.closed = true
	for _, w := range p.workers {
		p.retireLocked(w)
	}
	p.mu.Unlock()
	p.stop()
	p.end()
	p.running.Wait()
}

// do carries out an operation. A worker that ends before it has begun is replaced,
// once.
func (p *Pool) do(ctx context.Context, dst []byte, method string, params any) ([]byte, *os.File, error) {
	if !p.begin() {
		return dst, nil, errClosed()
	}
	defer p.running.Done()
	at := asked(params)
	if at == nil || *at == nil {
		return dst, nil, protocol.Errorf(protocol.CodeInternal, "%s asks for no confinement", method)
	}
	encoded, err := bare(params)
	if err != nil {
		return dst, nil, err
	}
	request := appendRequest(nil, method, encoded)
	if len(request) > limits.FileRequestBytes {
		return dst, nil, protocol.Errorf(protocol.CodeInvalidRequest, "the request is larger than %d bytes", limits.FileRequestBytes)
	}
	for again := true; ; again = false {
		// The policy is resolved each time: for a moment there may be more of its
		// kind, but never one that is older than what the host is now.
		plan, err := p.resolve(*at)
		if err != nil {
			return dst, nil, errPrepare(err)
		}
		if accessOf(params) == sandbox.Read {
			plan = looking(plan)
		}
		w, err := p.take(ctx, keyOf(plan, p.era()), plan)
		if err == nil {
			var file *os.File
			dst, file, err = w.do(ctx, dst, request)
			if err == nil || !errors.Is(err, errNotBegun) {
				return dst, file, err
			}
		}
		switch {
		case !errors.Is(err, errNotBegun):
			return dst, nil, err
		case !again && w == nil:
			return dst, nil, errPrepare(errMoved)
		case !again:
			return dst, nil, w.failure(ctx)
		}
	}
}

// begin counts an operation, unless the pool is closed.
func (p *Pool) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// errPrepare answers what can't be prepared.
func errPrepare(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		text, process := strings.CutPrefix(e.Message, "failed to prepare process sandbox: ")
		if !process && e.Kind() != protocol.KindSandboxUnavailable {
			return e
		}
		err = errors.New(text) // backends speak of commands
	}
	return protocol.Errorf(protocol.CodeInvalidRequest, "failed to prepare fs sandbox: %v", err)
}

// errCrowded answers who has waited too long for a worker.
func errCrowded() error {
	return protocol.Errorf(protocol.CodeInternal, "files are being worked on in %d confinements, "+
		"which is as many as this executor allows; try again later", limits.FileWorkers)
}

// errClosed answers when the executor is about to end.
func errClosed() error {
	return protocol.Errorf(protocol.CodeInternal, "the executor is shutting down")
}

// take returns a worker for a plan that has begun, with a place for an operation.
func (p *Pool) take(ctx context.Context, k key, plan *sandbox.Plan) (*worker, error) {
	w, err := p.wait(ctx, k, plan)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		p.give(w)
		return nil, context.Cause(ctx)
	}
	if w.control == nil {
		p.give(w)
		return nil, w.err
	}
	return w, nil
}

// wait waits for a place at a worker.
func (p *Pool) wait(ctx context.Context, k key, plan *sandbox.Plan) (*worker, error) {
	w, changed, err := p.place(k, plan)
	if w != nil || err != nil {
		return w, err
	}
	late := time.NewTimer(p.waiting)
	defer late.Stop()
	for {
		select {
		case <-changed:
		case <-late.C:
			return nil, errCrowded()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if w, changed, err = p.place(k, plan); w != nil || err != nil {
			return w, err
		}
	}
}

// place takes a place at a worker, which it starts if there is none. Without room it
// returns what is closed when there may be some.
func (p *Pool) place(k key, plan *sandbox.Plan) (*worker, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed()
	}
	w := p.workers[k]
	switch {
	case w != nil && w.calls == limits.FileWorkerCalls:
		return nil, p.changed, nil
	case w != nil:
	case p.alive == p.most:
		p.makeRoomLocked()
		return nil, p.changed, nil
	default:
		w = newWorker(p, k)
		w.fleeting = len(plan.Points) > 0
		p.workers[k] = w
		p.alive++
		p.running.Go(func() { p.run(w, plan) })
	}
	w.calls++
	w.idle.Stop()
	return w, nil, nil
}

// give gives a place back.
func (p *Pool) give(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.calls--
	switch {
	case w.calls > 0:
	case w.retired, w.fleeting:
		p.retireLocked(w)
	default:
		w.since = time.Now()
		w.idle.Reset(p.idle)
	}
	p.announceLocked()
}

// makeRoomLocked retires the worker that has been idle for the longest time, unless
// one is on its way out already. The caller holds the lock.
func (p *Pool) makeRoomLocked() {
	var oldest *worker
	if p.leaving > 0 {
		return
	}
	for _, w := range p.workers {
		if w.calls == 0 && (oldest == nil || w.since.Before(oldest.since)) {
			oldest = w
		}
	}
	if oldest != nil {
		p.retireLocked(oldest)
	}
}

// retire gives a worker no more operations, and has it killed when it has none.
func (p *Pool) retire(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retireLocked(w)
}

func (p *Pool) retireLocked(w *worker) {
	w.retired = true
	if p.workers[w.key] == w {
		delete(p.workers, w.key)
	}
	if w.calls == 0 || p.closed {
		p.doomLocked(w)
	}
}

// doomLocked has a worker killed. The caller holds the lock.
func (p *Pool) doomLocked(w *worker) {
	if w.doomed {
		return
	}
	w.doomed = true
	p.leaving++
	w.idle.Stop()
	close(w.doom)
}

// ended forgets a worker that has ended.
func (p *Pool) ended(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.retired, w.calls = true, 0
	if p.workers[w.key] == w {
		delete(p.workers, w.key)
	}
	w.idle.Stop()
	if w.doomed {
		p.leaving--
	}
	p.alive--
	p.announceLocked()
}

// announceLocked tells who waits for room. The caller holds the lock.
func (p *Pool) announceLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}
