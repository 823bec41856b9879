package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// lacks returns an error that wraps errors.ErrUnsupported if the executor does not
// have a feature.
func (e *executor) lacks(what, feature string) error {
	if hasFeature(e.Info(), feature) {
		return nil
	}
	return fmt.Errorf("%s: %w by this executor", what, errors.ErrUnsupported)
}

// CloseStdin ends standard input behind what has been written. The error wraps
// errors.ErrUnsupported if the executor can't do that: the dialect itself has
// no way to.
func (p *Process) CloseStdin(ctx context.Context) error {
	what := fmt.Sprintf("closing standard input of process %q", p.id)
	if err := p.executor.lacks(what, protocol.FeatureCloseStdin); err != nil {
		return err
	}
	if err := p.lockInput(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer p.unlockInput()
	_, err := call[protocol.CloseStdinResult](ctx, p.executor, protocol.MethodProcessCloseStdin,
		&protocol.CloseStdinParams{ProcessID: p.id})
	return err
}

// Resize changes the size of the process's terminal, in character cells. It is no
// error that the process has exited. The error wraps errors.ErrUnsupported if the
// executor can't do that.
func (p *Process) Resize(ctx context.Context, rows, cols uint16) error {
	err := p.executor.lacks(fmt.Sprintf("resizing the terminal of process %q", p.id), protocol.FeatureResize)
	if err != nil {
		return err
	}
	_, err = call[protocol.ResizeResult](ctx, p.executor, protocol.MethodProcessResize,
		&protocol.ResizeParams{ProcessID: p.id, Rows: rows, Cols: cols})
	return err
}

// Signal sends a signal to the process group. A process that has exited is left
// alone. If the connection is lost before the answer comes, the error is
// [ErrOutcomeUnknown]: a signal is not sent twice.
func (p *Process) Signal(ctx context.Context, signal protocol.Signal) error {
	_, err := callOnce[protocol.SignalResult](ctx, p.executor, protocol.MethodProcessSignal,
		&protocol.SignalParams{ProcessID: p.id, Signal: signal})
	return err
}

// SendSignal sends any signal to the process group, and reports false if the
// process has exited. The error wraps errors.ErrUnsupported if the executor can't
// do that; all of them can send what [Process.Signal] does. Otherwise errors are
// as there.
func (p *Process) SendSignal(ctx context.Context, signal protocol.SignalName) (delivered bool, err error) {
	err = p.executor.lacks(fmt.Sprintf("sending a signal to process %q", p.id), protocol.FeatureSignal)
	if err != nil {
		return false, err
	}
	result, err := callOnce[protocol.SendSignalResult](ctx, p.executor, protocol.MethodProcessSendSignal,
		&protocol.SendSignalParams{ProcessID: p.id, Signal: signal})
	if err != nil {
		return false, err
	}
	return result.Delivered, nil
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

// TerminateTree asks the process and all that it has started to end (SIGTERM),
// kills what is left after the grace, and returns who is dead and who does not
// die. The grace is at most an hour. The error wraps errors.ErrUnsupported if the
// executor can't do that.
func (p *Process) TerminateTree(ctx context.Context, grace time.Duration) (*protocol.TerminateTreeResult, error) {
	err := p.executor.lacks(fmt.Sprintf("terminating the tree of process %q", p.id), protocol.FeatureTerminate)
	if err != nil {
		return nil, err
	}
	return call[protocol.TerminateTreeResult](ctx, p.executor, protocol.MethodProcessTerminateTree,
		&protocol.TerminateTreeParams{ProcessID: p.id, GraceMs: uint64(max(grace, 0).Milliseconds())})
}

// Processes implements [Executor].
func (e *executor) Processes(ctx context.Context, usage bool) ([]protocol.ProcessInfo, error) {
	if err := e.lacks("listing processes", protocol.FeatureList); err != nil {
		return nil, err
	}
	var all []protocol.ProcessInfo
	for after := uint64(0); ; {
		page, err := call[protocol.ListResult](ctx, e, protocol.MethodProcessList,
			&protocol.ListParams{After: after, Usage: usage})
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

// supports returns an error that wraps errors.ErrUnsupported if a start asks for
// what the executor would ignore.
func (e *executor) supports(params *protocol.StartParams) error {
	extra := params.Airlock
	if extra == nil {
		return nil
	}
	for _, member := range []struct {
		isSet         bool
		what, feature string
	}{
		{extra.TerminalSize != nil, "a terminal size", protocol.FeatureResize},
		{extra.Stdin != nil, "standard input in the start", protocol.FeatureStdin},
		{extra.TimeoutMs != nil, "a timeout", protocol.FeatureTimeouts},
		{extra.IdleTimeoutMs != nil, "an idle timeout", protocol.FeatureTimeouts},
		{extra.Limits != nil, "limits", protocol.FeatureLimits},
	} {
		if member.isSet {
			if err := e.lacks(member.what, member.feature); err != nil {
				return err
			}
		}
	}
	return nil
}

// askAboutSandbox returns a start that asks to be told what becomes of its sandbox:
// which tier it is, and what it denies. Executors tell that to who asks for anything
// of Airlock.
func (e *executor) askAboutSandbox(params *protocol.StartParams) *protocol.StartParams {
	if params.Sandbox == nil || params.Airlock != nil ||
		e.lacks("", protocol.FeatureSandboxTier) != nil && e.lacks("", protocol.FeatureSandboxDenials) != nil {
		return params
	}
	asking := *params
	asking.Airlock = &protocol.StartExtra{}
	return &asking
}
