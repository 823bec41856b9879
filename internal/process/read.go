package process

import (
	"context"
	"math"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/outlog"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// PendingRead is a read that found no news.
type PendingRead struct {
	p        *Process
	params   *protocol.ReadParams
	observer bool
}

// Reading is the outcome of [Table.Read].
type Reading struct {
	// Result is what there is to read, unless Pending is set.
	Result *protocol.ReadResult
	// Sent, if set, is to be called when the result is on its way to the
	// client, or can't be.
	Sent func()
	// Pending waits for something to read.
	Pending *PendingRead
}

// Read returns retained output and the state of a process. If there is no news
// and params allow for some time, it returns what waits for it instead.
func (t *Table) Read(params *protocol.ReadParams) (Reading, error) { return t.read(params, false) }

// Observe is [Table.Read] without any effect on what the feed hands out.
func (t *Table) Observe(params *protocol.ReadParams) (Reading, error) { return t.read(params, true) }

func (t *Table) read(params *protocol.ReadParams, observer bool) (Reading, error) {
	p := t.find(params.ProcessID)
	if p == nil {
		return Reading{}, errUnknown(params.ProcessID)
	}
	reading, news, err := p.look(params, observer)
	if err == nil && !news && params.WaitMs != nil && *params.WaitMs > 0 {
		return Reading{Pending: &PendingRead{p, params, observer}}, nil
	}
	return reading, err
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

// Read returns what there is to read now.
func (r *PendingRead) Read() (Reading, error) {
	reading, _, err := r.p.look(r.params, r.observer)
	return reading, err
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

// look returns what a read can have now, and whether there is any news in it. An
// observer's has no effect on the feed.
func (p *Process) look(params *protocol.ReadParams, observer bool) (reading Reading, news bool, err error) {
	after, most := afterSeq(params), params.MaxBytes
	p.mu.Lock()
	switch {
	case p.removed:
		err = errUnknown(p.id)
	case p.state == starting:
		err = errStarting(p.id)
	}
	if err != nil {
		p.mu.Unlock()
		return Reading{}, false, err
	}
	news = p.hasNews(after)
	result := &protocol.ReadResult{NextSeq: p.nextSeq, Exited: p.exitSeq != 0, Closed: p.closeSeq != 0}
	if result.Exited {
		result.ExitCode = new(p.exitCode)
	}
	cautious := p.cursor
	if cautious != nil && (observer || !cautious.cautious) {
		cautious = nil
	}
	reason, reasonSeq, exitSeq, closeSeq := p.reason, p.reasonSeq, p.exitSeq, p.closeSeq
	sandbox := p.sandbox
	p.mu.Unlock()

	if cautious != nil && most == nil {
		most = new(uint64(limits.CatchUpBytes))
	}
	stopped := p.collect(result, after, most)
	// The bound of a cautious read is ours: the client has asked for all.
	if n := len(result.Chunks); n > 0 && (params.MaxBytes != nil || stopped) {
		result.NextSeq = result.Chunks[n-1].Seq + 1
	}
	reading.Result = result
	if stopped && params.MaxBytes == nil {
		p.hide(result)
	}
	switch {
	case result.Exited && exitSeq == reasonSeq:
		readExtra(result).Reason = reason
	case result.Closed && closeSeq == reasonSeq:
		readExtra(result).CloseReason = reason
	}
	if result.Exited {
		result.SandboxDenied = sandbox.denied
		sandbox.add(result)
	}
	if cautious != nil {
		reading.Sent = func() { p.caughtUp(cautious, after, stopped && params.MaxBytes == nil) }
	}
	return reading, news, nil
}

// caughtUp ends the caution of the feed: the client has the answer to its first
// read. A client that has come back reads once what it has missed of a process.
// What was left out of the answer it is told, with all that was in it: so it
// gets everything in order and need not keep anything that is ahead.
func (p *Process) caughtUp(c *cursor, after uint64, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cursor != c || !c.cautious:
		return // it is another connection's by now
	case more && after < c.sent:
		// Another cursor: what this one is just handing out comes again.
		p.cursor = newCursor(c.feed, p, after)
	default:
		c.cautious = false
	}
	p.wakeCursor()
}

// hide takes back the news of an exit and a close that come after what a result
// covers: clients take them for the end of the output.
func (p *Process) hide(result *protocol.ReadResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exitSeq >= result.NextSeq {
		result.Exited, result.ExitCode = false, nil
	}
	if p.closeSeq >= result.NextSeq {
		result.Closed = false
	}
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
	if p.removed || p.hasNews(afterSeq(params)) {
		return nil
	}
	return p.nextNews()
}

// hasNews tells whether a read after that number has something to tell. The
// caller holds the lock.
func (p *Process) hasNews(after uint64) bool {
	exitIsNews := p.exitSeq != 0 && after < p.nextSeq-1
	return p.outputSeq > after || p.closeSeq != 0 || exitIsNews
}

// collect adds the retained chunks after a number to a result: as many as stay
// within the bounds, but one at least. It reports whether there are more.
func (p *Process) collect(result *protocol.ReadResult, after uint64, most *uint64) bool {
	read := p.log.Read(after, result.NextSeq, most)
	result.Chunks = make([]protocol.Chunk, len(read.Chunks))
	for i, c := range read.Chunks {
		result.Chunks[i] = protocol.Chunk{Seq: c.Seq, Stream: StreamName(c.Stream), Chunk: c.Data}
	}
	if read.Gap != nil {
		first, dropped := DescribeGap(read.Gap, result.NextSeq)
		extra := readExtra(result)
		extra.FirstSeq, extra.DroppedBytes = first, dropped
	}
	return read.Stopped
}

// readExtra returns where a result tells what is ours.
func readExtra(result *protocol.ReadResult) *protocol.ReadExtra {
	if result.Airlock == nil {
		result.Airlock = &protocol.ReadExtra{}
	}
	return result.Airlock
}

// DescribeGap returns what the wire tells of a gap: the oldest number that can
// still be read, which is next if there is none, and the bytes of each stream
// before it.
func DescribeGap(gap *outlog.Gap, next uint64) (first uint64, dropped map[protocol.Stream]uint64) {
	first = gap.FirstSeq
	if first == 0 {
		first = next
	}
	dropped = map[protocol.Stream]uint64{}
	for stream, n := range gap.Dropped {
		if n > 0 {
			dropped[StreamName(spawn.Stream(stream))] = n
		}
	}
	return first, dropped
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
