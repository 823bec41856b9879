package process

import (
	"context"
	"math"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// PendingRead is a read that found no news.
type PendingRead struct {
	p      *Process
	params *protocol.ReadParams
}

// Read returns retained output and the state of a process. If there is no news
// and params allow for some time, it returns what waits for it instead.
func (t *Table) Read(params *protocol.ReadParams) (*protocol.ReadResult, *PendingRead, error) {
	p := t.find(params.ProcessID)
	if p == nil {
		return nil, nil, errUnknown(params.ProcessID)
	}
	result, news, err := p.look(params)
	if news != nil && params.WaitMs != nil && *params.WaitMs > 0 {
		return nil, &PendingRead{p, params}, nil
	}
	return result, nil, err
}

// Wait returns at the first news, when the time is over or when hurry is
// closed. It fails with the cause of ctx when that ends first.
func (r *PendingRead) Wait(ctx context.Context, hurry <-chan struct{}) error {
	timer := time.NewTimer(milliseconds(*r.params.WaitMs))
	defer timer.Stop()
	for {
		news := r.p.quiet(r.params)
		if news == nil {
			return nil
		}
		select {
		case <-news:
		case <-timer.C:
			return nil
		case <-hurry:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Result returns what there is to read now.
func (r *PendingRead) Result() (*protocol.ReadResult, error) {
	result, _, err := r.p.look(r.params)
	return result, err
}

func errUnknown(id string) error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "unknown process id %s", id)
}

func errStarting(id string) error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "process id %s is starting", id)
}

// milliseconds converts without overflow: a wait of centuries is one.
func milliseconds(n uint64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
}

// look returns what a read can have now. If there is no news in it, it comes
// with a channel that is closed when there is.
func (p *Process) look(params *protocol.ReadParams) (*protocol.ReadResult, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.removed:
		return nil, nil, errUnknown(p.id)
	case p.state == starting:
		return nil, nil, errStarting(p.id)
	}
	after := afterSeq(params)
	result := &protocol.ReadResult{
		Chunks:  p.collect(after, params.MaxBytes),
		NextSeq: p.nextSeq,
		Exited:  p.exitSeq != 0,
		Closed:  p.closeSeq != 0,
		Airlock: p.gap(after),
	}
	if result.Exited {
		code := p.exitCode
		result.ExitCode = &code
	}
	if n := len(result.Chunks); n > 0 {
		last := result.Chunks[n-1].Seq
		p.log.sealed = max(p.log.sealed, last)
		if params.MaxBytes != nil {
			result.NextSeq = last + 1
		}
	}
	return result, p.quietLocked(after), nil
}

func afterSeq(params *protocol.ReadParams) uint64 {
	if params.AfterSeq == nil {
		return 0
	}
	return *params.AfterSeq
}

// quiet returns nil if there is something for a read to tell, and otherwise a
// channel that is closed at the next event.
func (p *Process) quiet(params *protocol.ReadParams) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return nil
	}
	return p.quietLocked(afterSeq(params))
}

func (p *Process) quietLocked(after uint64) <-chan struct{} {
	exitIsNews := p.exitSeq != 0 && after < p.nextSeq-1
	if len(p.log.after(after)) > 0 || p.closeSeq != 0 || exitIsNews {
		return nil
	}
	return p.nextNews()
}

// collect copies the retained chunks after a sequence number: as many as stay
// within the bound, but one at least. The caller holds the lock.
func (p *Process) collect(after uint64, most *uint64) []protocol.Chunk {
	kept := p.log.after(after)
	var total uint64
	taken := 0
	for _, c := range kept {
		if most != nil && taken > 0 && total+uint64(c.length) > *most {
			break
		}
		total += uint64(c.length)
		taken++
		if most != nil && total >= *most {
			break
		}
	}
	chunks := make([]protocol.Chunk, taken)
	all := make([]byte, 0, total)
	for i, c := range kept[:taken] {
		start := len(all)
		all = p.log.copyOut(all, c)
		chunks[i] = protocol.Chunk{Seq: c.seq, Stream: StreamName(c.stream), Chunk: all[start:]}
	}
	return chunks
}

// gap tells what was dropped, if any of it was behind after. The caller holds
// the lock.
func (p *Process) gap(after uint64) *protocol.ReadExtra {
	if after >= p.log.droppedSeq {
		return nil
	}
	first := p.nextSeq
	if len(p.log.chunks) > 0 {
		first = p.log.chunks[0].seq
	}
	extra := &protocol.ReadExtra{FirstSeq: first, DroppedBytes: map[protocol.Stream]uint64{}}
	for stream, n := range p.log.dropped {
		extra.DroppedBytes[StreamName(stream)] = n
	}
	return extra
}

// StreamName returns the name of a stream on the wire.
func StreamName(s spawn.Stream) protocol.Stream {
	switch s {
	case spawn.Stdout:
		return protocol.StreamStdout
	case spawn.Stderr:
		return protocol.StreamStderr
	default:
		return protocol.StreamPTY
	}
}
