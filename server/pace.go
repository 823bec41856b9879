package server

import (
	"context"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pace bounds how much is read in a second. The zero value is ready.
type pace struct {
	mu   sync.Mutex
	next time.Time // when what has been taken so far has had its time
}

// cost is the time that so many bytes have to themselves.
func cost(bytes int) time.Duration {
	return time.Duration(bytes) * time.Second / limits.ObservedRate
}

// take takes as many bytes as one answer may have for those that will be read, and
// returns how long to wait before. [pace.give] gives back the rest.
func (p *pace) take() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(cost(limits.ObservedBytes))
	return wait
}

// give gives back what has been taken and not read.
func (p *pace) give(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = p.next.Add(-cost(bytes))
}

// sleep waits for a time, or until hurry is closed. It fails with the cause of ctx
// if that ends first.
func sleep(ctx context.Context, hurry <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-hurry:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
