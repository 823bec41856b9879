package rpc

import (
	"errors"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
)

// errStalled ends a connection to a peer that has stopped reading.
var errStalled = errors.New("the client has taken nothing of what is sent to it for too long")

// stallWatch tells whether the peer takes what is sent to it. While there is
// something to send it looks at the transport's progress now and then; that
// costs a write next to nothing.
type stallWatch struct {
	transport transport.Conn
	timeout   time.Duration // without progress; 0: nothing is watched
	drop      time.Duration // the same, until the connection ends
	busy      func() bool   // there is something to send
	changed   func(stalled bool)
	end       func(reason error)
	timer     *time.Timer // runs look while watching

	mu       sync.Mutex
	watching bool
	ended    bool
	fresh    bool // progress is not known yet
	progress uint64
	moved    time.Time // when progress was last made
	stalled  bool
}

func newStallWatch(c *Conn) *stallWatch {
	w := &stallWatch{
		transport: c.transport, timeout: c.config.StallTimeout, drop: c.config.StallDrop,
		busy: c.out.busy, changed: c.config.Stalled, end: c.Close,
	}
	if w.timeout > 0 {
		w.timer = time.AfterFunc(time.Hour, w.look)
		w.timer.Stop()
	}
	return w
}

// interval is the time between two looks.
func (w *stallWatch) interval() time.Duration { return w.timeout / 4 }

// began is called when a write begins.
func (w *stallWatch) began() {
	if w.timer == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watching || w.ended {
		return
	}
	w.watching, w.fresh = true, true
	w.moved = time.Now()
	w.timer.Reset(w.interval())
}

// look takes a look at the progress.
func (w *stallWatch) look() {
	busy, progress := w.busy(), w.transport.Progress()
	was, is, over := w.judge(busy, progress)
	if was != is {
		w.changed(is)
	}
	if over {
		w.end(errStalled)
	}
	w.goOn()
}

// goOn sees to the next look while there is something to send. A write that
// begins meanwhile relies on it.
func (w *stallWatch) goOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watching = !w.ended && w.busy()
	if w.watching {
		w.timer.Reset(w.interval())
	}
}

// judge returns whether the peer was stalled, whether it is, and whether the
// connection has to end.
func (w *stallWatch) judge(busy bool, progress uint64) (was, is, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was = w.stalled
	if w.ended {
		return was, was, false
	}
	now := time.Now()
	if !w.fresh && progress != w.progress || !busy {
		w.moved = now
	}
	w.fresh = false
	w.progress = progress
	idle := now.Sub(w.moved)
	w.stalled = idle >= w.timeout
	return was, w.stalled, w.drop > 0 && idle >= w.drop
}

// stop ends the watch.
func (w *stallWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
