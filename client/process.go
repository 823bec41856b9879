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

// Process is a process that was started.
type Process struct {
	executor *executor
	id       string
	sandbox  protocol.SandboxType
	events   *events
	writes   atomic.Uint64
	exitCode atomic.Int64
}

func newProcess(e *executor, id string) *Process {
	p := &Process{executor: e, id: id, events: newEvents()}
	p.exitCode.Store(-1)
	return p
}

// ID returns the id that the process was started with.
func (p *Process) ID() string { return p.id }

// SandboxType names the confinement in force; it is empty if the executor does
// not tell.
func (p *Process) SandboxType() protocol.SandboxType { return p.sandbox }

// Next waits for the next event and returns it. After the [Closed] event it
// returns io.EOF. When the connection is lost it returns [ErrDisconnected],
// after the events that have arrived.
func (p *Process) Next(ctx context.Context) (Event, error) {
	event, err := p.events.next(ctx)
	if err != nil {
		return Event{}, err
	}
	switch event.Kind {
	case Exited:
		p.exitCode.Store(int64(event.ExitCode))
	case Closed:
		p.executor.forget(p)
	case Output:
	}
	return event, nil
}

// Wait takes all events that are left and returns the exit code: 0 to 255,
// 128 + the signal that ended the program, or -1 if it is not known.
func (p *Process) Wait(ctx context.Context) (int, error) {
	for {
		_, err := p.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return int(p.exitCode.Load()), nil
		case err != nil:
			return -1, err
		}
	}
}

// Read returns output that the executor has retained; see
// [protocol.ReadParams]. The process id is filled in.
func (p *Process) Read(ctx context.Context, params protocol.ReadParams) (*protocol.ReadResult, error) {
	params.ProcessID = p.id
	return call[protocol.ReadResult](ctx, p.executor, protocol.MethodProcessRead, &params)
}

// Write queues data for standard input, or the terminal. It returns when the
// executor has accepted all of it, which does not mean that the program has
// read it.
func (p *Process) Write(ctx context.Context, data []byte) error {
	for piece := range slices.Chunk(data, writeBytes) {
		result, err := call[protocol.WriteResult](ctx, p.executor, protocol.MethodProcessWrite,
			&protocol.WriteParams{
				ProcessID: p.id, Chunk: piece, WriteID: strconv.FormatUint(p.writes.Add(1), 10),
			})
		if err != nil {
			return fmt.Errorf("writing to process %q: %w", p.id, err)
		}
		if result.Status != protocol.WriteAccepted {
			return fmt.Errorf("writing to process %q: the executor answers %s", p.id, result.Status)
		}
	}
	return nil
}

// writeBytes bounds the data of one process/write.
const writeBytes = 64 << 10

// CloseStdin ends standard input behind what has been written. The error wraps
// errors.ErrUnsupported if the executor can't do that: the dialect itself has
// no way to.
func (p *Process) CloseStdin(ctx context.Context) error {
	info := p.executor.Info().Airlock
	if info == nil || !slices.Contains(info.Features, protocol.FeatureCloseStdin) {
		return fmt.Errorf("closing standard input of process %q: %w by this executor",
			p.id, errors.ErrUnsupported)
	}
	_, err := call[protocol.CloseStdinResult](ctx, p.executor, protocol.MethodProcessCloseStdin,
		&protocol.CloseStdinParams{ProcessID: p.id})
	return err
}

// Signal sends a signal to the process group. A process that has exited is left
// alone.
func (p *Process) Signal(ctx context.Context, signal protocol.Signal) error {
	_, err := call[protocol.SignalResult](ctx, p.executor, protocol.MethodProcessSignal,
		&protocol.SignalParams{ProcessID: p.id, Signal: signal})
	return err
}

// Terminate kills the process. It reports whether it was still running.
func (p *Process) Terminate(ctx context.Context) (bool, error) {
	result, err := call[protocol.TerminateResult](ctx, p.executor, protocol.MethodProcessTerminate,
		&protocol.TerminateParams{ProcessID: p.id})
	if err != nil {
		return false, err
	}
	return result.Running, nil
}
