package client

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// pollTime is how long an executor waits for news before it answers.
const pollTime = 30 * time.Second

// Events returns the events of the process with numbers above afterSeq: those
// that the executor has kept, and then those that happen, up to the [Closed]
// event. If there is an error it is the last element.
//
// Any number of goroutines may do this, each at its own pace, and whatever the
// other methods take. What was dropped before it was reached is told by [Gap]
// events. A process that is followed in this way alone is still held back by
// events that nobody takes, unless its handle is from [Executor.Process].
func (p *Process) Events(ctx context.Context, afterSeq uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		order := newSequence(afterSeq)
		for !order.closed {
			epoch := p.inbox.currentEpoch()
			result, complete, err := p.poll(ctx, order.last)
			if err == nil {
				order.read(result, complete)
				if len(order.early) == 0 && !order.closed && p.executor.Info().Airlock == nil {
					err = p.inbox.waitAbove(ctx, order.last, epoch)
				}
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for i, ok := order.next(); ok; i, ok = order.next() {
				if !yield(i.Event, nil) {
					return
				}
			}
		}
	}
}

// poll reads what comes after a number. Airlock waits for news itself; another
// executor would let all that is asked meanwhile wait, too.
func (p *Process) poll(ctx context.Context, after uint64) (result *protocol.ReadResult, complete bool, err error) {
	params := protocol.ReadParams{AfterSeq: &after}
	if p.executor.Info().Airlock != nil {
		params.MaxBytes = new(uint64(readBytes))
		params.WaitMs = new(uint64(pollTime.Milliseconds()))
	}
	result, err = p.readStarted(ctx, params)
	if err != nil {
		return nil, false, err
	}
	return result, params.MaxBytes == nil || len(result.Chunks) == 0, nil
}

// state asks for what is known besides output.
func (p *Process) state(ctx context.Context) (*protocol.ReadResult, error) {
	return p.readStarted(ctx, protocol.ReadParams{AfterSeq: new(uint64(unknown))})
}

// readStarted is Read, of a process that may be just being started.
func (p *Process) readStarted(ctx context.Context, params protocol.ReadParams) (*protocol.ReadResult, error) {
	for {
		result, err := p.Read(ctx, params)
		if !isStarting(err) {
			return result, err
		}
		if err := wait(ctx, startingPause); err != nil {
			return nil, err
		}
	}
}

// wait waits for some time, or ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// highest returns the highest number that a read result covers.
func highest(r *protocol.ReadResult) uint64 { return r.NextSeq - min(1, r.NextSeq) }

// Wake waits until the process has reached a number above after, and returns
// the highest that is known: who comes late skips some. It returns io.EOF when
// the process has closed and there will be none. Numbers of output that is held
// back, because nobody takes what came before, are not known.
func (p *Process) Wake(ctx context.Context, after uint64) (uint64, error) {
	b := &p.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.newest > after:
			return b.newest, nil
		case b.over:
			return b.newest, io.EOF
		case b.err != nil:
			return b.newest, b.err
		case b.asked > b.epoch || b.starting:
			if err := b.news.await(ctx, &b.mu); err != nil {
				return b.newest, err
			}
			continue
		}
		epoch := b.epoch
		b.mu.Unlock()
		result, err := p.state(ctx)
		b.mu.Lock()
		if err != nil {
			return b.newest, err
		}
		b.asked = max(b.asked, epoch+1)
		b.heard(highest(result), result.Closed)
	}
}

// currentEpoch returns how often the session has been resumed.
func (b *inbox) currentEpoch() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// waitAbove waits until there may be something to read after a number.
func (b *inbox) waitAbove(ctx context.Context, number, epoch uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.newest <= number && !b.over && b.epoch == epoch && b.err == nil {
		if err := b.news.await(ctx, &b.mu); err != nil {
			return err
		}
	}
	return nil
}
