package transfer

import (
	"context"
	"io"
)

// interruptible is a reader whose reads end with a context, as those of a terminal
// or a pipe do not.
type interruptible struct {
	done  <-chan struct{}
	cause func() error
	read  <-chan piece
	left  piece
}

// piece is what one read has brought.
type piece struct {
	data []byte
	err  error
}

// newInterruptible reads beside. The read that is under way when the context ends
// can't be ended, so nobody waits for it.
func newInterruptible(ctx context.Context, r io.Reader) *interruptible {
	read := make(chan piece)
	go func() {
		for {
			data := make([]byte, streamBytes)
			n, err := r.Read(data)
			select {
			case read <- piece{data[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return &interruptible{done: ctx.Done(), cause: func() error { return context.Cause(ctx) }, read: read}
}

// Read implements [io.Reader].
func (i *interruptible) Read(data []byte) (int, error) {
	if len(i.left.data) == 0 && i.left.err == nil {
		select {
		case i.left = <-i.read:
		case <-i.done:
			i.left.err = i.cause()
		}
	}
	n := copy(data, i.left.data)
	i.left.data = i.left.data[n:]
	if len(i.left.data) == 0 {
		return n, i.left.err
	}
	return n, nil
}
