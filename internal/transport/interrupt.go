package transport

import (
	"io"
	"os"
	"sync"
	"time"
)

// interruptibleReader returns r, or something that reads from it and whose
// Close ends a Read in progress.
func interruptibleReader(r io.ReadCloser) io.ReadCloser {
	if f, ok := r.(*os.File); ok && f.SetReadDeadline(time.Time{}) != nil {
		return newDetached(f)
	}
	return r
}

// interruptibleWriter is interruptibleReader for writes.
func interruptibleWriter(w io.WriteCloser) io.WriteCloser {
	if f, ok := w.(*os.File); ok && f.SetWriteDeadline(time.Time{}) != nil {
		return newDetached(f)
	}
	return w
}

// detached uses a file whose operations can't be interrupted: each runs on a
// goroutine of its own, on a buffer of its own, and is left behind by Close.
// One operation at a time may be in progress.
type detached struct {
	f       *os.File
	buf     []byte
	busy    sync.Mutex // held by the goroutine of an operation
	closing sync.Once
	closed  chan struct{}
}

func newDetached(f *os.File) *detached {
	return &detached{f: f, closed: make(chan struct{})}
}

func (d *detached) Read(p []byte) (int, error) {
	if cap(d.buf) == 0 {
		d.buf = make([]byte, stdioBuffer)
	}
	buf := d.buf[:min(len(p), cap(d.buf))]
	n, err := d.run(d.f.Read, buf)
	return copy(p, buf[:n]), err
}

func (d *detached) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		d.buf = append(d.buf[:0], p[written:min(len(p), written+stdioBuffer)]...)
		n, err := d.run(d.f.Write, d.buf)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (d *detached) run(op func([]byte) (int, error), buf []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		d.busy.Lock()
		n, err := op(buf)
		d.busy.Unlock()
		_ = d.closeIfIdle()
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-d.closed:
		return 0, os.ErrClosed
	}
}

func (d *detached) Close() error {
	d.closing.Do(func() { close(d.closed) })
	return d.closeIfIdle()
}

// closeIfIdle closes the file after Close, but not below an operation: on some
// systems that would wait for the operation's end, which then does it instead.
func (d *detached) closeIfIdle() error {
	select {
	case <-d.closed:
	default:
		return nil
	}
	if !d.busy.TryLock() {
		return nil
	}
	defer d.busy.Unlock()
	return d.f.Close()
}
