package client

import (
	"io"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// block is a part of a file that has been asked for.
type block struct {
	offset int64
	done   chan struct{} // closed when the others are set
	data   []byte
	eof    bool
	err    error
}

// readahead reads a file in order, and asks for the more ahead the longer that
// lasts. It has no lock.
type readahead struct {
	// fetch reads a part of the file. It ends by itself. start runs it beside.
	fetch func(offset int64, size int) (*protocol.ReadBlockResult, error)
	start func(func()) error
	// size is where the file ends, as far as is known: nothing is asked for ahead
	// beyond it.
	size int64

	blocks []*block // what is asked for and not read, each behind the other
	depth  int      // how many they may be
	next   int64    // where the one behind them begins
}

// at returns the data from an offset on, of one block. It waits for it. At the end
// of the file it returns io.EOF.
func (r *readahead) at(offset int64) ([]byte, error) {
	for {
		r.seek(offset)
		r.ask()
		first := r.blocks[0]
		<-first.done
		passed := offset - first.offset
		switch {
		case first.err != nil:
			r.drop(offset) // who asks again asks anew
			return nil, first.err
		case passed < int64(len(first.data)):
			return first.data[passed:], nil
		case first.eof:
			r.drop(offset)
			return nil, io.EOF
		case len(first.data) == 0:
			r.drop(offset)
			return nil, errEndless
		case len(first.data) < limits.BlockBytes:
			r.drop(offset) // the others were asked for in vain
		default:
			r.pop()
		}
	}
}

// seek drops what does not lead to an offset.
func (r *readahead) seek(offset int64) {
	for len(r.blocks) > 1 && r.blocks[1].offset <= offset {
		r.pop()
	}
	began := r.next
	if len(r.blocks) > 0 {
		began = r.blocks[0].offset
	}
	if r.depth == 0 || offset < began || offset > r.next {
		r.drop(offset)
	}
}

// ask asks for as many blocks as may be.
func (r *readahead) ask() {
	for len(r.blocks) == 0 || len(r.blocks) < r.depth && r.next < r.size {
		b := &block{offset: r.next, done: make(chan struct{})}
		r.blocks = append(r.blocks, b)
		r.next += limits.BlockBytes
		err := r.start(func() {
			defer close(b.done)
			result, err := r.fetch(b.offset, limits.BlockBytes)
			if err != nil {
				b.err = err
				return
			}
			b.data, b.eof = result.Chunk, result.EOF
		})
		if err != nil {
			b.err = err
			close(b.done)
		}
	}
}

// pop is done with the first block.
func (r *readahead) pop() {
	r.blocks[0] = nil
	r.blocks = r.blocks[1:]
	r.depth = min(2*r.depth, limits.BlocksAhead)
}

// drop forgets what has been asked for, and begins anew.
func (r *readahead) drop(offset int64) {
	r.blocks, r.depth, r.next = nil, 1, offset
}
