package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/airlock-exec/airlock/protocol"
)

// Process is a handle on a process.
//
// What the process does is taken as events, by [Process.Next], or as the output
// of its streams, by readers: a stream that has a [Reader] has no output events
// any more. Each output waits until somebody takes it, and once 1 MiB waits the
// process is held back, so every stream must be taken by somebody:
// [Process.Wait] takes those that have no reader, and drops them.
//
// [Process.Events] is independent of all that.
type Process struct {
	executor *executor
	id       string
	inbox    inbox

	writing chan struct{} // holds a token while something is written
	writes  atomic.Uint64
}

func newProcess(e *executor, id string) *Process {
	p := &Process{executor: e, id: id, writing: make(chan struct{}, 1)}
	p.inbox.id = id
	p.inbox.order = newSequence(0)
	p.inbox.readers = map[protocol.Stream]*Reader{}
	p.inbox.exit = -1
	return p
}

// ID returns the id that the process was started with.
func (p *Process) ID() string { return p.id }

// SandboxType names the confinement in force; it is empty if that is not known.
func (p *Process) SandboxType() protocol.SandboxType {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.sandbox
}

// SandboxTier says what enforces the sandbox that the process was started with. It
// is empty if there is none, or if the executor does not tell.
func (p *Process) SandboxTier() protocol.SandboxTier {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.tier
}

// LimitMechanisms names what enforces the limits that the process was started
// with; it is nil if there are none, or if that is not known.
func (p *Process) LimitMechanisms() *protocol.LimitMechanisms {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.limits
}

// Next waits for the next event and returns it. After the [Closed] event it
// returns io.EOF. When the session can't go on it returns [ErrDisconnected] or
// [ErrSessionLost], after the events that have arrived; [ErrUnknownProcess] if
// the executor has forgotten the process. One goroutine at a time calls Next or
// [Process.Wait].
func (p *Process) Next(ctx context.Context) (Event, error) {
	b := &p.inbox
	b.follow()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := p.await(ctx, func() bool { return len(b.queue) > 0 }); err != nil {
		return Event{}, err
	}
	i := b.queue[0]
	b.queue[0] = item{}
	b.queue = b.queue[1:]
	b.took(&i)
	return i.Event, nil
}

// Wait takes all events that are left, and returns the exit code when the
// process has closed: 0 to 255, 128 + the signal that ended the program, or -1
// if it is not known. Output of streams with a [Reader] is kept for that: if it
// is not read, the process may have to wait for it, and Wait for the process.
func (p *Process) Wait(ctx context.Context) (int, error) {
	var err error
	for err == nil {
		_, err = p.Next(ctx)
	}
	if !errors.Is(err, io.EOF) {
		return -1, err
	}
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.exit, nil
}

// Read returns output that the executor has retained; see
// [protocol.ReadParams]. The process id is filled in.
func (p *Process) Read(ctx context.Context, params protocol.ReadParams) (*protocol.ReadResult, error) {
	params.ProcessID = p.id
	return call[protocol.ReadResult](ctx, p.executor, protocol.MethodProcessRead, &params)
}

// Write queues data for standard input, or the terminal. It returns when the
// executor has accepted all of it, which does not mean that the program has
// read it. Data of one call stays together.
func (p *Process) Write(ctx context.Context, data []byte) error {
	if err := p.lockInput(ctx); err != nil {
		return fmt.Errorf("writing to process %q: %w", p.id, err)
	}
	defer p.unlockInput()
	_, err := p.write(ctx, data)
	return err
}

// lockInput waits for the writes before.
func (p *Process) lockInput(ctx context.Context) error {
	select {
	case p.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Process) unlockInput() { <-p.writing }

// writeBytes bounds the data of one process/write.
const writeBytes = 64 << 10

// write returns how much has been accepted.
func (p *Process) write(ctx context.Context, data []byte) (written int, err error) {
	for piece := range slices.Chunk(data, writeBytes) {
		// The id makes a repetition harmless, and is nobody else's.
		id := p.executor.writer + "-" + strconv.FormatUint(p.writes.Add(1), 10)
		result, err := call[protocol.WriteResult](ctx, p.executor, protocol.MethodProcessWrite,
			&protocol.WriteParams{ProcessID: p.id, Chunk: piece, WriteID: id})
		if err == nil {
			err = statusError(result.Status)
		}
		if err != nil {
			return written, fmt.Errorf("writing to process %q: %w", p.id, err)
		}
		written += len(piece)
	}
	return written, nil
}

// statusError translates the outcome of a write.
func statusError(status protocol.WriteStatus) error {
	switch status {
	case protocol.WriteAccepted:
		return nil
	case protocol.WriteUnknownProcess:
		return ErrUnknownProcess
	case protocol.WriteStdinClosed:
		return ErrStdinClosed
	default:
		return fmt.Errorf("the executor answers %s", status)
	}
}
