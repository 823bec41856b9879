package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

const (
	// startingPause is how long a process that is being started is left alone.
	startingPause = 100 * time.Millisecond
	// undoTimeout bounds the end of a process of whose start nothing is known.
	undoTimeout = time.Second
	// startingTimeout is how long an executor other than Airlock gets for a
	// start whose connection was lost. It forgets such a start, but not the id.
	startingTimeout = 5 * time.Second
)

// Start implements [Executor].
func (e *executor) Start(ctx context.Context, params *protocol.StartParams) (*Process, error) {
	// Events may come right behind the answer.
	p := e.Process(params.ProcessID)
	if !p.inbox.adopt() {
		return nil, fmt.Errorf("starting process %q: %w", p.id, ErrProcessExists)
	}
	sent, err := p.start(ctx, params)
	if err == nil {
		return p, nil
	}
	e.forget(p)
	p.inbox.end(err)
	if sent && refusal(err) == nil {
		p.undo(ctx)
	}
	return nil, err
}

// undo ends a process of whose start nothing is known: nobody has a handle on it.
func (p *Process) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_, _ = p.Terminate(ctx)
}

// start asks for the process until there is an answer. It reports whether it has
// asked at all.
func (p *Process) start(ctx context.Context, params *protocol.StartParams) (sent bool, err error) {
	_, err = protocol.Encode(params)
	if err == nil {
		err = p.executor.supports(params)
	}
	if err != nil {
		return false, fmt.Errorf("starting process %q: %w", p.id, err)
	}
	params = p.executor.askAboutSandbox(params)
	var before *link
	repeated := false
	for {
		l, err := p.executor.connected(ctx, before)
		if err != nil {
			return sent, fmt.Errorf("starting process %q: %w", p.id, err)
		}
		sent = true
		epoch := p.inbox.currentEpoch()
		result, lost, err := ask[protocol.StartResult](ctx, l, protocol.MethodProcessStart, params)
		if err == nil {
			p.inbox.started(result, epoch, false)
			return true, nil
		}
		if lost {
			before, repeated = l, true
			continue
		}
		err = classify(err)
		if !repeated || !errors.Is(err, ErrProcessExists) {
			return true, err
		}
		// An earlier one has got through: ids are ours to choose.
		running, err := p.waitStarted(ctx)
		if err != nil {
			return true, err
		}
		if running {
			p.inbox.started(nil, epoch, true)
			return true, nil
		}
		before = nil
	}
}

// waitStarted waits until a start that is under way is done. It reports false if
// that has failed.
func (p *Process) waitStarted(ctx context.Context) (bool, error) {
	began := time.Now()
	for {
		_, err := p.Read(ctx, protocol.ReadParams{AfterSeq: new(uint64(unknown))})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, ErrUnknownProcess):
			return false, nil
		case !isStarting(err):
			return false, err
		}
		if time.Since(began) > startingTimeout && p.executor.Info().Airlock == nil {
			// Nothing comes of this one any more, but its id is in the way.
			_, err := p.Terminate(ctx)
			return false, err
		}
		if err := wait(ctx, startingPause); err != nil {
			return false, err
		}
	}
}
