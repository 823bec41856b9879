package process

import (
	"context"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// errStdin answers writes that can't be queued any more.
var errStdin = &protocol.Error{
	Code: protocol.CodeInternal, Message: "failed to write to process stdin",
}

// stdin is the queue of what is to be written to a process. It is guarded by
// the lock of its process.
type stdin struct {
	queue [][]byte
	bytes int
	// waiting are writes that found the queue full, in order of arrival.
	waiting []*pendingWrite
	// accepted are the ids of the newest accepted writes, order the oldest first.
	accepted map[string]bool
	order    []string

	writing bool // the writer runs, or has run
	work    chan struct{}
	// closing: an end follows what is queued and what waits.
	closing bool
	// failed: the process was terminated, writes are errors.
	failed bool
	// ended: nobody reads any more, writes go nowhere.
	ended bool
}

// pendingWrite is a write that waits for room.
type pendingWrite struct {
	id    string
	data  []byte
	ready chan struct{} // closed with the outcome in err
	err   error
}

// PendingWrite is the outcome of [Table.Write].
type PendingWrite struct {
	// Status is the outcome, unless Wait is set.
	Status protocol.WriteStatus
	// Wait, if set, waits for the outcome.
	Wait func(ctx context.Context) (protocol.WriteStatus, error)
}

// Write queues bytes for the standard input of a process. Writes to one
// process reach it in the order of the calls, also those that have to wait for
// room, which is for the caller to bound. The data is kept.
func (t *Table) Write(params *protocol.WriteParams) (PendingWrite, error) {
	switch n := len(params.WriteID); {
	case n == 0:
		return PendingWrite{}, protocol.Errorf(protocol.CodeInvalidParams, "writeId must not be empty")
	case n > limits.WriteIDBytes:
		return PendingWrite{}, protocol.Errorf(protocol.CodeInvalidParams,
			"writeId has %d bytes: at most %d are allowed", n, limits.WriteIDBytes)
	}
	p := t.find(params.ProcessID)
	if p == nil {
		return PendingWrite{Status: protocol.WriteUnknownProcess}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	in := &p.stdin
	switch {
	case p.state == starting:
		return PendingWrite{Status: protocol.WriteStarting}, nil
	case !p.hasStdin:
		return PendingWrite{Status: protocol.WriteStdinClosed}, nil
	case in.accepted[params.WriteID]:
		return PendingWrite{Status: protocol.WriteAccepted}, nil
	case in.closing:
		return PendingWrite{Status: protocol.WriteStdinClosed}, nil
	case in.failed:
		return PendingWrite{}, errStdin
	case len(in.waiting) == 0 && in.hasRoom(len(params.Chunk)):
		if !in.ended && !p.table.config.Input.take(len(params.Chunk)) {
			return PendingWrite{}, errNoBudget(len(params.Chunk))
		}
		p.accept(params.WriteID, params.Chunk)
		return PendingWrite{Status: protocol.WriteAccepted}, nil
	}
	w := &pendingWrite{id: params.WriteID, data: params.Chunk, ready: make(chan struct{})}
	in.waiting = append(in.waiting, w)
	return PendingWrite{
		Wait: func(ctx context.Context) (protocol.WriteStatus, error) { return p.await(ctx, w) },
	}, nil
}

func (in *stdin) hasRoom(n int) bool {
	return len(in.queue) < limits.QueuedWrites &&
		(in.bytes == 0 || in.bytes+n <= limits.QueuedWriteBytes)
}

// accept queues a write and remembers its id, in one step. The caller holds
// the lock, and has taken the bytes from the budget.
func (p *Process) accept(id string, data []byte) {
	in := &p.stdin
	if in.accepted == nil {
		in.accepted = map[string]bool{}
	}
	in.accepted[id] = true
	in.order = append(in.order, id)
	if len(in.order) > limits.RememberedWrites {
		delete(in.accepted, in.order[0])
		in.order = in.order[1:]
	}
	p.timeouts.active()
	if in.ended || len(data) == 0 {
		return
	}
	in.queue = append(in.queue, data)
	in.bytes += len(data)
	p.wakeWriter()
}

// give queues all that there will be, before there is a child.
func (in *stdin) give(data []byte) {
	if len(data) > 0 {
		in.queue, in.bytes = [][]byte{data}, len(data)
	}
	in.closing = true
}

// wakeWriter makes the writer look at the queue. The caller holds the lock.
func (p *Process) wakeWriter() {
	in := &p.stdin
	if !in.writing {
		in.writing = true
		in.work = make(chan struct{}, 1)
		p.table.tasks.Go(p.feedStdin)
	}
	in.signal()
}

// CloseStdin ends the standard input of a process behind the writes that came
// before. To do it again, or for a process that has closed, does nothing.
func (t *Table) CloseStdin(params *protocol.CloseStdinParams) error {
	p := t.find(params.ProcessID)
	if p == nil {
		return errUnknown(params.ProcessID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	in := &p.stdin
	switch {
	case p.state == starting:
		return errStarting(p.id)
	case p.hasTerminal:
		return protocol.Errorf(protocol.CodeInvalidParams,
			"process %s has a terminal, which has no end: write its end-of-file character (Ctrl-D, \\x04) instead", p.id)
	case !p.hasStdin, in.closing:
		return nil
	}
	in.closing = true // also when nobody reads any more: later writes are refused
	if !in.failed && !in.ended {
		p.wakeWriter()
	}
	return nil
}

// signal wakes the writer.
func (in *stdin) signal() {
	select {
	case in.work <- struct{}{}:
	default:
	}
}

// await waits for room for a write, or takes it back.
func (p *Process) await(ctx context.Context, w *pendingWrite) (protocol.WriteStatus, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stdin.withdraw(w)
		p.admitWaiting()
		return "", context.Cause(ctx)
	}
	if w.err != nil {
		return "", w.err
	}
	return protocol.WriteAccepted, nil
}

// withdraw takes a waiting write back, if it still waits.
func (in *stdin) withdraw(w *pendingWrite) {
	for i, other := range in.waiting {
		if other == w {
			in.waiting = append(in.waiting[:i], in.waiting[i+1:]...)
			return
		}
	}
}

// admitWaiting accepts writes that have waited, as far as there is room: in
// order, and each id only once. The caller holds the lock.
func (p *Process) admitWaiting() {
	in := &p.stdin
	for len(in.waiting) > 0 {
		w := in.waiting[0]
		if !in.accepted[w.id] {
			if !in.hasRoom(len(w.data)) {
				return
			}
			p.table.config.Input.claim(len(w.data))
			p.accept(w.id, w.data)
		}
		in.waiting = in.waiting[1:]
		close(w.ready)
	}
}

// feedStdin writes what is queued until nobody reads any more. A child that
// has closed its standard input is no error: its bytes go nowhere.
func (p *Process) feedStdin() {
	for range p.stdin.work {
		for {
			data, child, over := p.nextWrite()
			if over {
				return
			}
			if data == nil {
				break
			}
			_ = child.Write(data)
			p.wrote(data)
		}
	}
}

// nextWrite returns the head of the queue, if there is one. It ends the child's
// standard input when that is what comes next, and reports whether the writer
// is done.
func (p *Process) nextWrite() (data []byte, child Child, over bool) {
	p.mu.Lock()
	in := &p.stdin
	child = p.child
	if len(in.queue) > 0 {
		data = in.queue[0]
	}
	over = in.ended
	last := in.closing && data == nil && len(in.waiting) == 0
	p.mu.Unlock()
	if last && !over {
		child.CloseStdin()
		over = true
	}
	return data, child, over
}

// wrote takes the head off the queue and lets writes that wait take its place.
func (p *Process) wrote(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := &p.stdin
	if in.ended {
		return
	}
	in.queue[0] = nil
	in.queue = in.queue[1:]
	in.bytes -= len(data)
	p.table.config.Input.give(len(data))
	p.admitWaiting()
}

// end lets writes go nowhere: the process has closed. It gives what has not been
// written back to the budget. The caller holds the lock of the process.
func (in *stdin) end(budget *Budget) {
	in.ended = true
	budget.give(in.bytes)
	in.queue, in.bytes = nil, 0
	if in.writing {
		in.signal()
	}
	for _, w := range in.waiting {
		close(w.ready)
	}
	in.waiting = nil
}

// fail refuses writes that wait and those to come: the process was terminated.
// The caller holds the lock of the process.
func (in *stdin) fail() {
	in.failed = true
	for _, w := range in.waiting {
		w.err = errStdin
		close(w.ready)
	}
	in.waiting = nil
}
