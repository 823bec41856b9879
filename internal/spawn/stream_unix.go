//go:build unix

package spawn

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

type buffer [limits.ChunkBytes]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// stream is the reading end of a pipe, or a terminal. One goroutine at a time
// reads it; interrupt and close may be called by others.
type stream struct {
	name Stream
	file *os.File
	conn syscall.RawConn
	read func(fd uintptr) bool // s.tryRead, bound once
	busy bool                  // has filled a whole read before

	// What the last tryRead has read.
	buf *buffer // nil unless between tryRead and deliver
	n   int
}

func newStream(name Stream, file *os.File) (*stream, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &stream{name: name, file: file, conn: conn}
	s.read = s.tryRead
	return s, nil
}

// tryRead reads what is there, into a buffer that it takes for the purpose: a
// stream that waits holds none. It reports false if there is nothing, neither
// output nor an end.
func (s *stream) tryRead(fd uintptr) bool {
	buf := buffers.Get().(*buffer)
	n, err := syscall.Read(int(fd), buf[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), buf[:])
	}
	if err == syscall.EAGAIN {
		buffers.Put(buf)
		return false
	}
	if n == len(buf) && !s.busy {
		// The writer outruns us; with more room it need not wait for us at
		// every turn. A quiet stream is left alone, as the system limits the
		// room that all pipes of a user take.
		s.busy = true
		growPipe(int(fd))
	}
	s.buf, s.n = buf, n
	return true
}

// pass waits for output and hands one read over. It returns io.EOF at the end
// and os.ErrDeadlineExceeded when interrupted.
func (s *stream) pass(ev Events) error {
	if err := s.conn.Read(s.read); err != nil {
		return err
	}
	return s.deliver(ev)
}

// deliver hands over what tryRead has read.
func (s *stream) deliver(ev Events) error {
	buf := s.buf
	s.buf = nil
	defer buffers.Put(buf)
	// A failed read is the end, too: a terminal that nobody has open any more
	// fails with EIO.
	if s.n <= 0 {
		return io.EOF
	}
	ev.Output(s.name, buf[:s.n])
	return nil
}

// interrupt makes pass return os.ErrDeadlineExceeded, now or when it is called
// next.
func (s *stream) interrupt() {
	_ = s.file.SetReadDeadline(time.Unix(1, 0)) // fails on a closed file only
}

// giveUp makes pass end, once what is there has been drained.
func (s *stream) giveUp() { s.interrupt() }

// drain ends the interruption and hands over what can be read without waiting,
// up to a bound: someone else may be writing all the time.
func (s *stream) drain(ev Events) error {
	if err := s.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	for total := 0; total < limits.DrainBytes; {
		var some bool
		err := s.conn.Read(func(fd uintptr) bool {
			some = s.tryRead(fd)
			return true
		})
		if err != nil {
			return err
		}
		if !some {
			return nil
		}
		if err := s.deliver(ev); err != nil {
			return err
		}
		total += s.n
	}
	return nil
}

func (s *stream) close() { _ = s.file.Close() }

// settle waits until everything that was written before the exit has been
// handed over. It reports whether the streams have ended.
func (p *Process) settle() bool {
	p.undrained.Wait()
	return !p.lingering.Load()
}
