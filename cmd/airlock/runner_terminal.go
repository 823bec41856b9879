package main

import (
	"bytes"
	"context"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// typed is called with keys that the command has not got yet. While there is no
// connection for them, an interrupt is for us: nothing else would end the wait.
func (r *runner) typed(keys []byte) {
	if bytes.IndexByte(keys, interruptKey) >= 0 && r.notice.isLost() {
		select {
		case r.gaveUp <- struct{}{}:
		default:
		}
	}
}

// lookAtSize has keepSize look whether the size has changed.
func (r *runner) lookAtSize() {
	select {
	case r.resized <- struct{}{}:
	default: // it will anyway
	}
}

// keepSize has the command's terminal follow the size of the user's, until ctx
// ends or the executor does not know the command any more.
func (r *runner) keepSize(ctx context.Context, process *client.Process, told protocol.TerminalSize) {
	ticks, stop := sizeTicks()
	defer stop()
	for {
		size := r.terminal.size()
		redraw := r.redraw.Swap(false)
		if size != nil && redraw && *size == told {
			// Only a change is a reason to draw anew.
			told = protocol.TerminalSize{Rows: size.Rows, Cols: otherWidth(size.Cols)}
			if process.Resize(ctx, told.Rows, told.Cols) != nil {
				return
			}
		}
		if size != nil && *size != told {
			told = *size
			if process.Resize(ctx, told.Rows, told.Cols) != nil {
				return
			}
		}
		select {
		case <-r.resized:
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// otherWidth returns a width that differs as little as can be.
func otherWidth(cols uint16) uint16 {
	if cols > 1 {
		return cols - 1
	}
	return cols + 1
}
