package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

const (
	// readBytes is how much output is read at a time from an executor that
	// keeps the rest.
	readBytes = 256 << 10
	// leastReadBytes is the same over a connection that breaks all the time:
	// each time it has broken, half as much is asked for.
	leastReadBytes = 8 << 10
	// holeTime is how long an event may come behind one with a higher number.
	holeTime = time.Second
)

// errHole ends the wait for such an event.
var errHole = errors.New("an event has been left out")

// await waits until ready says that there is something to take. It reads what
// the notifications have left out, and returns io.EOF when the process has
// closed. The caller holds the lock of the inbox, which is let go meanwhile.
func (p *Process) await(ctx context.Context, ready func() bool) error {
	b := &p.inbox
	for !ready() {
		switch {
		case b.order.closed:
			return io.EOF
		case b.err != nil:
			return b.err
		case !b.behind || b.reading || b.bytes >= windowBytes:
			if err := b.awaitNews(ctx); err != nil {
				return err
			}
			continue
		}
		b.reading = true
		b.news.tell()
		b.mu.Unlock()
		err := p.catchUp(ctx)
		b.mu.Lock()
		b.reading = false
		b.news.tell()
		if err != nil && b.err == nil {
			return err
		}
	}
	return nil
}

// awaitNews waits for the next change. A hole that does not close by itself is
// read: an executor that does not tell in order closes it soon, or not at all.
func (b *inbox) awaitNews(ctx context.Context) error {
	if b.behind || len(b.order.early) == 0 {
		return b.news.await(ctx, &b.mu)
	}
	waiting, cancel := context.WithDeadlineCause(ctx, b.holeSince.Add(holeTime), errHole)
	defer cancel()
	err := b.news.await(waiting, &b.mu)
	if errors.Is(err, errHole) {
		b.fallBehind()
		err = nil
	}
	return err
}

// catchUp reads some of what the notifications have left out. The caller has
// seen to it that nobody else does.
//
// An executor that paces itself keeps what has not been granted, so that it is
// read a piece at a time, up to the number from which on notifications leave
// nothing out. Another one may drop it at any time: everything is read at once.
func (p *Process) catchUp(ctx context.Context) error {
	b := &p.inbox
	l, err := p.executor.connected(ctx, nil)
	if err != nil {
		return err
	}
	b.mu.Lock()
	epoch, after := b.epoch, b.order.last
	asking := l.paced.Load() && !b.targeted
	piece := uint64(readBytes >> b.broken)
	b.mu.Unlock()

	params := protocol.ReadParams{ProcessID: p.id, AfterSeq: &after}
	switch {
	case asking:
		params.AfterSeq = new(uint64(unknown))
	case l.paced.Load():
		params.MaxBytes = &piece
	}
	result, lost, err := ask[protocol.ReadResult](ctx, l, protocol.MethodProcessRead, &params)
	if lost {
		b.mu.Lock()
		if piece > leastReadBytes {
			b.broken++
		}
		b.mu.Unlock()
		_, err = p.executor.connected(ctx, l)
		return err
	}
	if err != nil {
		return p.cannotRead(ctx, classify(err))
	}
	complete := params.MaxBytes == nil || len(result.Chunks) == 0

	b.mu.Lock()
	if !asking {
		b.broken = max(b.broken-1, 0)
		b.order.read(result, complete)
	}
	if complete && b.epoch == epoch {
		b.targeted = true
		b.target = max(b.target, highest(result))
	}
	b.heard(highest(result), result.Closed && complete)
	b.settle()
	closed := b.order.closed
	b.mu.Unlock()
	if closed {
		p.executor.forget(p)
	}
	return nil
}

// cannotRead deals with a refusal, and returns it if it is nothing that ends the
// process or passes.
func (p *Process) cannotRead(ctx context.Context, err error) error {
	switch {
	case isStarting(err):
		return wait(ctx, startingPause)
	case errors.Is(err, ErrUnknownProcess):
		p.inbox.end(err)
		p.executor.forget(p)
		return nil
	}
	return err
}
