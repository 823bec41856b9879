package confined

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// starter starts workers.
type starter interface {
	// start starts one in the confinement of a plan, with a socket in place of
	// standard input. Errors are those of an operation that needs the worker.
	start(ctx context.Context, plan *sandbox.Plan, stdin *os.File) (child, error)
}

// child is the process of a worker.
type child interface {
	Kill()
	// ended is closed when nothing is left of it.
	ended() <-chan struct{}
	// status says how it has ended, and what it has said.
	status() string
}

// worker carries out operations in one confinement.
type worker struct {
	pool *Pool
	key  key

	ready   chan struct{} // closed when it is known whether it has begun
	control *socket       // set by then; nil if it has not begun
	err     error         // why not
	doom    chan struct{} // closed when it has to end
	done    chan struct{} // closed when it has ended
	child   child

	// What follows is guarded by the lock of the pool.
	calls   int // places taken
	retired bool
	// fleeting tells that there is something on the host because of the worker,
	// where others see it: it ends when it has nothing to do.
	fleeting bool
	doomed   bool
	since    time.Time // when it has become idle
	idle     *time.Timer
}

func newWorker(p *Pool, k key) *worker {
	w := &worker{
		pool: p, key: k,
		ready: make(chan struct{}), doom: make(chan struct{}), done: make(chan struct{}),
	}
	w.idle = time.AfterFunc(p.idle, w.rest)
	return w
}

// rest ends a worker that has been idle for long.
func (w *worker) rest() {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.calls == 0 {
		p.retireLocked(w)
	}
}

// run starts the worker and waits for its end.
func (w *worker) run(ctx context.Context, plan *sandbox.Plan) {
	defer w.pool.ended(w)
	defer close(w.done)
	control, child, err := w.begin(ctx, plan)
	if err != nil {
		w.pool.log.Warn("a worker for files in a confinement can't be started", "error", err)
		w.err = err
		if keyOf(plan, w.pool.era()) != w.key {
			w.err = errNotBegun // maybe because something has been moved meanwhile
		}
		w.pool.retire(w)
		close(w.ready)
		return
	}
	defer control.Close()
	w.control, w.child = control, child
	if keyOf(plan, w.pool.era()) != w.key {
		// Something has been moved meanwhile, and may be moved back: who finds
		// this worker by its key then must not get it.
		w.pool.retire(w)
	}
	close(w.ready)
	select {
	case <-child.ended():
	case <-w.doom:
		// By itself it ends sooner than by force, which takes looking for all that
		// it may have started.
		control.Close()
		ebb(child)
	case <-ctx.Done():
	}
	child.Kill() // which does nothing to one that has ended
	<-child.ended()
}

func (w *worker) begin(ctx context.Context, plan *sandbox.Plan) (*socket, child, error) {
	control, stdin, err := controlled()
	if err != nil {
		return nil, nil, errPrepare(err)
	}
	defer stdin.Close()
	child, err := w.pool.start.start(ctx, plan, stdin)
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	return control, child, nil
}

// controlled returns what a worker is asked by, and what it gets for that.
func controlled() (control *socket, stdin *os.File, err error) {
	control, theirs, err := pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, nil, err
	}
	return control, os.NewFile(uintptr(theirs), "worker"), nil
}

// do has the worker carry out an operation, for which there is a place, and gives
// that back.
func (w *worker) do(ctx context.Context, dst, request []byte) ([]byte, *os.File, error) {
	c, err := newCall(w.control)
	if err != nil {
		if errors.Is(err, errNotBegun) {
			w.pool.retire(w)
		}
		w.pool.give(w)
		return dst, nil, err
	}
	dst, file, err := c.do(ctx, dst, request)
	if ctx.Err() != nil && err != nil {
		// The place is taken as long as the worker is at it.
		w.pool.running.Go(func() {
			if !c.abandon(w.pool.patience) {
				w.pool.retire(w)
			}
			c.Close()
			w.pool.give(w)
		})
		return dst, nil, err
	}
	c.Close()
	_, told := errors.AsType[*protocol.Error](err)
	failed := err != nil && !told
	if failed {
		w.pool.retire(w)
		ebb(w.child)
	}
	w.pool.give(w)
	if failed && !errors.Is(err, errNotBegun) {
		err = w.failure(ctx)
	}
	if w.fleeting {
		w.clear(ctx)
	}
	return dst, file, err
}

// ebbTime is how long a worker may take to end by itself.
const ebbTime = time.Second

// ebb lets a worker end that is about to. One that has failed can then tell how.
func ebb(c child) {
	late := time.NewTimer(ebbTime)
	defer late.Stop()
	select {
	case <-c.ended():
	case <-late.C:
	}
}

// clear waits until what was on the host because of a worker is gone, unless others
// still have it at work: whoever looks after the answer must not find it.
func (w *worker) clear(ctx context.Context) {
	w.pool.mu.Lock()
	doomed := w.doomed
	w.pool.mu.Unlock()
	if !doomed {
		return
	}
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

// failure answers for a worker that has failed. It waits for the worker's end.
func (w *worker) failure(ctx context.Context) error {
	select {
	case <-w.done:
		return errFailed(w.child.status())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errFailed answers for a worker that has failed.
func errFailed(status string) error {
	return protocol.Errorf(protocol.CodeInternal, "fs sandbox helper failed with status %s", status)
}
