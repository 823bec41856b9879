package process

import (
	"context"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// Terminate kills a process that has not exited, and reports whether there was
// one to kill.
func (t *Table) Terminate(params *protocol.TerminateParams) bool {
	p := t.find(params.ProcessID)
	if p == nil {
		return false
	}
	p.mu.Lock()
	was, child := p.state, p.child
	switch was {
	case starting:
		p.removed = true
	case running:
		p.stdin.fail()
	case exited, closed:
	}
	p.mu.Unlock()
	switch was {
	case starting:
		p.cancel()
		t.forget(p)
	case running:
		child.Kill()
	case exited, closed:
		return false
	}
	return true
}

// termination is a process being ended with a grace. Its fields but over and
// done are guarded by the lock of the process.
type termination struct {
	over     context.CancelFunc // ends the grace
	grace    *time.Timer        // does so
	deadline time.Time          // when

	asked  int           // requests that wait for it
	done   chan struct{} // closed with the outcome in result
	result protocol.TerminateTreeResult
}

// PendingTermination is a termination under way.
type PendingTermination struct{ t *termination }

// Wait waits for the outcome. If ctx ends first it fails with the cause, and the
// termination goes on.
func (w PendingTermination) Wait(ctx context.Context) (*protocol.TerminateTreeResult, error) {
	select {
	case <-w.t.done:
		return &w.t.result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TerminateTree ends a process and all that it has started, with a grace, for a
// reason that its client is told. One that is terminated already is given the
// shorter of the two times.
func (t *Table) TerminateTree(params *protocol.TerminateTreeParams, reason protocol.EndReason) (PendingTermination, error) {
	grace := milliseconds(params.GraceMs)
	if grace > limits.TerminateGrace {
		return PendingTermination{}, protocol.Errorf(protocol.CodeInvalidParams,
			"graceMs is %d: at most %d are allowed", params.GraceMs, limits.TerminateGrace.Milliseconds())
	}
	p := t.find(params.ProcessID)
	if p == nil {
		return PendingTermination{}, errUnknown(params.ProcessID)
	}
	p.mu.Lock()
	was, removed := p.state, p.removed
	if was == starting {
		p.removed = true
	}
	var pending *termination
	crowded := p.termination != nil && p.termination.asked >= limits.TerminationWaiters && grace > 0
	if !removed && !crowded && (was == running || was == exited) {
		p.because(reason)
		pending = p.terminateWithin(grace)
		pending.asked++
	}
	p.mu.Unlock()
	switch {
	case removed:
		return PendingTermination{}, errUnknown(p.id)
	case pending != nil:
		return PendingTermination{pending}, nil
	case crowded:
		return PendingTermination{}, protocol.Errorf(protocol.CodeInvalidRequest,
			"process %s is being terminated, and %d requests wait for that already: wait for one of them, or ask with a graceMs of 0",
			p.id, limits.TerminationWaiters)
	case was == starting:
		p.cancel()
		t.forget(p)
	}
	pending = &termination{done: make(chan struct{})}
	pending.result = protocol.TerminateTreeResult{Killed: []int{}, Survivors: []int{}}
	close(pending.done)
	return PendingTermination{pending}, nil
}

// terminateWithin begins a termination, or hurries the one under way. The caller
// holds the lock, and has made sure that the process is not removed: so the table
// has not yet begun to wait for what is under way.
func (p *Process) terminateWithin(grace time.Duration) *termination {
	deadline := time.Now().Add(grace)
	if t := p.termination; t != nil {
		if deadline.Before(t.deadline) {
			t.deadline = deadline
			t.grace.Reset(grace)
		}
		return t
	}
	ctx, over := context.WithCancel(context.Background())
	t := &termination{over: over, grace: time.AfterFunc(grace, over), deadline: deadline, done: make(chan struct{})}
	p.termination = t
	p.table.tasks.Go(func() { p.terminate(ctx, t, grace) })
	return t
}

// terminate sees a termination through.
func (p *Process) terminate(ctx context.Context, t *termination, grace time.Duration) {
	killed, survivors := p.child.Terminate(ctx, grace)
	p.mu.Lock()
	defer p.mu.Unlock()
	t.over()
	t.grace.Stop()
	p.termination = nil
	t.result = protocol.TerminateTreeResult{Killed: killed, Survivors: survivors}
	close(t.done)
}
