package client

import (
	"context"
	"io"

	"github.com/airlock-exec/airlock/protocol"
)

// Reader reads the output of one stream of a process. Like all output it has to
// be read, or closed: see [Process].
//
// One goroutine at a time reads; those of several streams do not disturb each
// other.
type Reader struct {
	process *Process
	stream  protocol.Stream

	// Guarded by the lock of the process's inbox.
	queue  []item
	offset int // in the data of the first of them
	closed bool
}

// Stdout returns what reads standard output. The first call claims the stream:
// what has come and not been taken by [Process.Next] is read first, and there
// are no events of it any more.
func (p *Process) Stdout() *Reader { return p.Output(protocol.StreamStdout) }

// Stderr is [Process.Stdout] for standard error.
func (p *Process) Stderr() *Reader { return p.Output(protocol.StreamStderr) }

// PTY is [Process.Stdout] for the terminal, which a process has in place of the
// others or not at all.
func (p *Process) PTY() *Reader { return p.Output(protocol.StreamPTY) }

// Output returns what reads a stream.
func (p *Process) Output(stream protocol.Stream) *Reader {
	b := &p.inbox
	b.follow()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.readers[stream]
	if r == nil {
		r = &Reader{process: p, stream: stream}
		b.readers[stream] = r
		r.claim()
		b.news.tell()
	}
	return r
}

// claim moves over what waits as events.
func (r *Reader) claim() {
	b := &r.process.inbox
	kept := b.queue[:0]
	for _, i := range b.queue {
		if i.Kind == Output && i.Stream == r.stream {
			r.queue = append(r.queue, i)
			continue
		}
		if i.Kind == Gap && i.concerns(r.stream) {
			r.queue = append(r.queue, i)
			b.bytes += i.cost()
		}
		kept = append(kept, i)
	}
	clear(b.queue[len(kept):])
	b.queue = kept
}

// hand takes over an event of the stream. The caller holds the lock.
func (r *Reader) hand(i item) {
	b := &r.process.inbox
	if r.closed {
		b.grant(&i)
		return
	}
	r.queue = append(r.queue, i)
	b.bytes += i.cost()
}

// Read waits for output and returns it. After the last of it comes io.EOF, or
// an error as from [Process.Next]. Output that the executor has dropped is a
// [*GapError], once; what comes behind it can be read then.
func (r *Reader) Read(data []byte) (int, error) { return r.ReadContext(context.Background(), data) }

// ReadContext is Read, bounded by a context.
func (r *Reader) ReadContext(ctx context.Context, data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	b := &r.process.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	err := r.process.await(ctx, func() bool { return len(r.queue) > 0 || r.closed })
	switch {
	case err != nil:
		return 0, err
	case r.closed:
		return 0, io.ErrClosedPipe
	}
	if i := r.queue[0]; i.Kind == Gap {
		r.pop()
		return 0, &GapError{
			ProcessID: r.process.id, FirstSeq: i.FirstSeq, LastSeq: i.Seq, Missed: i.Missed,
		}
	}
	n := 0
	for n < len(data) && len(r.queue) > 0 && r.queue[0].Kind == Output {
		rest := r.queue[0].Data[r.offset:]
		copied := copy(data[n:], rest)
		n += copied
		r.offset += copied
		if copied == len(rest) {
			r.pop()
		}
	}
	return n, nil
}

// pop is done with the first of the queue.
func (r *Reader) pop() {
	i := r.queue[0]
	r.queue[0] = item{}
	r.queue = r.queue[1:]
	r.offset = 0
	r.process.inbox.took(&i)
}

// Close drops what has not been read and what is still to come.
func (r *Reader) Close() error {
	b := &r.process.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	r.closed = true
	for len(r.queue) > 0 {
		r.pop()
	}
	b.news.tell()
	return nil
}

// Stdin returns what writes to standard input, or the terminal. Its Close is
// [Process.CloseStdin]. The context bounds all that is written by it.
func (p *Process) Stdin(ctx context.Context) io.WriteCloser {
	return &stdin{
		write: func(data []byte) (int, error) {
			if err := p.lockInput(ctx); err != nil {
				return 0, err
			}
			defer p.unlockInput()
			return p.write(ctx, data)
		},
		close: func() error { return p.CloseStdin(ctx) },
	}
}

// stdin implements io.WriteCloser.
type stdin struct {
	write func([]byte) (int, error)
	close func() error
}

func (s *stdin) Write(data []byte) (int, error) { return s.write(data) }
func (s *stdin) Close() error                   { return s.close() }
