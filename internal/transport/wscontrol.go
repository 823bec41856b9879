package transport

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Opcodes of control frames, RFC 6455 section 11.8.
const (
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

// controlFrame encodes a control frame with a payload of at most 125 bytes.
// Frames of a client are masked.
func controlFrame(opcode byte, payload []byte, masked bool) []byte {
	const final, mask = 0x80, 0x80
	frame := append(make([]byte, 0, 6+len(payload)), final|opcode, byte(len(payload)))
	if !masked {
		return append(frame, payload...)
	}
	var key [4]byte
	_, _ = rand.Read(key[:]) // never fails
	frame[1] |= mask
	frame = append(frame, key[:]...)
	for i, b := range payload {
		frame = append(frame, b^key[i%len(key)])
	}
	return frame
}

// keepalive says how a silent peer is found out.
type keepalive struct {
	interval, timeout time.Duration
}

// newKeepalive fills in the defaults for what is not positive.
func newKeepalive(interval, timeout time.Duration) keepalive {
	return keepalive{
		interval: cmp.Or(max(interval, 0), limits.PingInterval),
		timeout:  cmp.Or(max(timeout, 0), limits.PingTimeout),
	}
}

// maxControlQueue bounds the control frames that wait for the connection to
// become writable. Above it only the newest ping is answered, as the RFC allows.
const maxControlQueue = 4 << 10

// controlQueue holds encoded control frames until they can be written. Neither
// the reader nor a timer may wait for a peer that does not read.
type controlQueue struct {
	mu     sync.Mutex
	frames []byte
	added  chan struct{} // has room for one token
}

func (q *controlQueue) put(frame []byte) {
	q.mu.Lock()
	if len(q.frames)+len(frame) > maxControlQueue {
		q.frames = q.frames[:0]
	}
	q.frames = append(q.frames, frame...)
	q.mu.Unlock()
	select {
	case q.added <- struct{}{}:
	default: // a token is there, and the frame will be seen with it
	}
}

func (q *controlQueue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames = nil
	return frames
}

func (c *wsConn) startKeepalive() {
	// Made first and set then, so that checkSilence finds it.
	c.watch = time.AfterFunc(math.MaxInt64, c.checkSilence)
	c.watch.Reset(c.alive.timeout)
	go c.serveControl()
}

// onPing is called by the library, within Read; it returns false to say that
// the library must not answer.
func (c *wsConn) onPing(_ context.Context, payload []byte) bool {
	c.control.put(controlFrame(opPong, payload, c.client))
	return false
}

// serveControl sends pings at the interval and answers the peer's. It may be
// stuck in a write for as long as the peer does not read.
func (c *wsConn) serveControl() {
	defer close(c.controlDone)
	ticker := time.NewTicker(c.alive.interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
			c.control.put(controlFrame(opPing, nil, c.client))
		case <-c.control.added:
			if err := c.writeControl(); err != nil {
				c.end(fmt.Errorf("%w: %w", ErrClosed, err), 0)
			}
		}
	}
}

func (c *wsConn) writeControl() error {
	c.behind.Store(c.net.progress() + 1)
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	c.behind.Store(0)
	frames := c.control.take()
	if c.broken || c.ended() || len(frames) == 0 {
		return nil
	}
	_, err := c.net.Write(frames)
	c.broken = err != nil
	return err
}

// checkSilence ends the connection if nothing has been received for the timeout,
// or else comes back when that can be the case at the earliest. While nobody
// reads, silence says nothing about the peer; nor while it takes a large batch.
//
// It runs on a timer, not in serveControl, because a peer that is gone does not
// read either.
func (c *wsConn) checkSilence() {
	next := c.alive.timeout
	if since := c.reading.Load(); since != 0 {
		silent := c.net.clock() - time.Duration(max(since, c.net.heard.Load()))
		switch {
		case silent < c.alive.timeout:
			next -= silent
		case !c.takesBatch():
			c.end(ErrPingTimeout, 0)
			return
		}
	}
	c.watch.Reset(next)
	if c.ended() { // end may have stopped the timer just before
		c.watch.Stop()
	}
}

// takesBatch tells whether the peer has gone on taking a batch, since the last look,
// that our pings are behind of: it can't answer what it has not got.
func (c *wsConn) takesBatch() bool {
	before := c.behind.Load()
	now := c.net.progress() + 1
	return before != 0 && before != now && c.behind.CompareAndSwap(before, now)
}

// Probe implements [Conn].
func (c *wsConn) Probe() {
	if c.ended() || c.probing.Swap(true) {
		return
	}
	asked := int64(c.net.clock())
	c.control.put(controlFrame(opPing, nil, c.client))
	time.AfterFunc(limits.ProbeTimeout, func() {
		c.probing.Store(false)
		// A Read that began later, or none, says that we are not looking.
		since := c.reading.Load()
		if since != 0 && since <= asked && c.net.heard.Load() <= asked {
			c.end(ErrPingTimeout, 0)
		}
	})
}
