package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/internal/limits"
)

// stdioBuffer is how much is read, and written, at a time: what a pipe holds.
const stdioBuffer = 64 << 10

// stdioConn carries one message per line.
type stdioConn struct {
	r     io.ReadCloser
	w     io.WriteCloser
	in    *bufio.Reader
	line  []byte        // a line that did not fit into the buffer of in
	out   []byte        // the part of a batch that is to be written
	wrote atomic.Uint64 // bytes that have been written

	closing sync.Once
	done    chan struct{} // closed by Close
}

// Done is closed by Close.
func (c *stdioConn) Done() <-chan struct{} { return c.done }

// NewStdio returns a connection over a pair of byte streams: the executor's own
// standard input and output, or those of a child process.
//
// Close closes both streams, which is what ends a Read and a Write in progress.
// Files that can't be interrupted, such as a terminal or an inherited blocking
// pipe, are read and written on a goroutine that Close leaves behind if it is
// stuck; it ends as soon as the operation does.
//
// Messages hold no line feed, which compact JSON never does.
func NewStdio(r io.ReadCloser, w io.WriteCloser) Conn {
	r, w = interruptibleReader(r), interruptibleWriter(w)
	return &stdioConn{
		r: r, w: w,
		in:   bufio.NewReaderSize(r, stdioBuffer),
		done: make(chan struct{}),
	}
}

func (c *stdioConn) Origin() string { return "JSON-RPC message from exec-server stdio" }

// Read returns the next line that is not blank. At the end of the input, what
// follows the last line feed is a line, too.
func (c *stdioConn) Read() ([]byte, error) {
	if cap(c.line) > keptBuffer {
		c.line = nil
	}
	for {
		if c.closed() {
			return nil, ErrClosed
		}
		line, err := c.readLine()
		if err == nil && !utf8.Valid(line) {
			err = ErrInvalidUTF8
		}
		if err != nil {
			return nil, c.fail(err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// readLine returns the next line without its end, in the reader's buffer if it
// fits in there.
func (c *stdioConn) readLine() ([]byte, error) {
	c.line = c.line[:0]
	for {
		part, err := c.in.ReadSlice('\n')
		line := part
		if len(c.line) > 0 || err == bufio.ErrBufferFull {
			c.line = append(c.line, part...)
			line = c.line
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case len(text) > limits.MessageBytes:
			return nil, ErrMessageTooBig
		case ended, err == io.EOF && len(text) > 0:
			return bytes.TrimSuffix(text, []byte("\r")), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// Write joins the batch, so that it takes few system calls.
func (c *stdioConn) Write(batch [][]byte) error {
	if c.closed() {
		return ErrClosed
	}
	for _, message := range batch {
		if len(c.out)+len(message) >= stdioBuffer {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if len(message) >= stdioBuffer {
			for piece := range slices.Chunk(message, stdioBuffer) { // so that progress can be seen
				if err := c.write(piece); err != nil {
					return err
				}
			}
			message = nil
		}
		c.out = append(c.out, message...)
		c.out = append(c.out, '\n')
	}
	return c.flush()
}

func (c *stdioConn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	err := c.write(c.out)
	c.out = c.out[:0]
	return err
}

func (c *stdioConn) write(p []byte) error {
	n, err := c.w.Write(p)
	c.wrote.Add(uint64(n))
	if err != nil {
		return c.fail(err)
	}
	return nil
}

// Progress implements [Conn].
func (c *stdioConn) Progress() uint64 { return c.wrote.Load() }

// Probe implements [Conn].
func (*stdioConn) Probe() {}

// fail closes the connection, unless it can still be written to, and returns
// the error for the caller.
func (c *stdioConn) fail(err error) error {
	switch {
	case c.closed():
		return ErrClosed
	case err == io.EOF:
		return io.EOF
	case errors.Is(err, ErrMessageTooBig), errors.Is(err, ErrInvalidUTF8):
	default:
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	c.Close(err)
	return err
}

func (c *stdioConn) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *stdioConn) Close(error) {
	c.closing.Do(func() {
		close(c.done)
		_ = c.r.Close()
		_ = c.w.Close()
	})
}
