package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spare"
)

const (
	// closeTimeout bounds how long Close tries to tell the peer.
	closeTimeout = 100 * time.Millisecond
	// keptBuffer is the largest read buffer kept for as long as a connection lasts.
	keptBuffer = 1 << 20
	// firstBuffer is the smallest one.
	firstBuffer = 4 << 10
	// statusTakenOver and statusEnded are the status of ErrTakenOver and
	// ErrEnded, of those that RFC 6455 leaves to applications.
	statusTakenOver websocket.StatusCode = 4001
	statusEnded     websocket.StatusCode = 4002
)

// wsConn is a WebSocket, on either side.
//
// The library reads frames and writes messages. Control frames are written here
// instead, straight to the connection below: the library would drop a peer that
// sends a ping and then does not read for five seconds, and its way to close
// can take longer than that.
type wsConn struct {
	ws     *websocket.Conn
	net    *corkConn
	client bool
	origin string
	alive  keepalive

	readBuf []byte
	large   spare.Buffers // those of readBuf that were larger than keptBuffer
	reading atomic.Int64  // net.clock when the Read in progress began; 0: none is

	writing chan struct{} // holds a token while a batch or a control frame is written
	broken  bool          // a write failed, maybe within a frame; owned by the token

	control     controlQueue
	controlDone chan struct{} // closed when serveControl has returned
	behind      atomic.Uint64 // net.progress, and 1, while control frames wait for a batch
	watch       *time.Timer   // runs checkSilence
	probing     atomic.Bool   // a Probe is under way

	ending sync.Once
	done   chan struct{} // closed when the connection has ended
	cause  error         // why; set before done is closed
}

// newWSConn prepares a connection to the peer at the other end of socket. It
// must be started, or else dropped.
func newWSConn(socket *corkConn, peer string, alive keepalive) *wsConn {
	return &wsConn{
		net:         socket,
		origin:      "websocket JSON-RPC message from exec-server websocket " + peer,
		alive:       alive,
		writing:     make(chan struct{}, 1),
		control:     controlQueue{added: make(chan struct{}, 1)},
		controlDone: make(chan struct{}),
		done:        make(chan struct{}),
	}
}

// start makes the connection usable, once the library has done the handshake.
func (c *wsConn) start(ws *websocket.Conn) {
	ws.SetReadLimit(limits.MessageBytes)
	c.ws = ws
	c.startKeepalive()
}

func (c *wsConn) Origin() string { return c.origin }

func (c *wsConn) Done() <-chan struct{} { return c.done }

// Progress implements [Conn].
func (c *wsConn) Progress() uint64 { return c.net.progress() }

// Read returns the next text or binary message.
func (c *wsConn) Read() ([]byte, error) {
	c.reading.Store(int64(c.net.clock()))
	defer c.reading.Store(0)
	if cap(c.readBuf) > keptBuffer {
		c.large.Keep(c.readBuf)
		c.readBuf = nil
	}
	err := c.readMessage()
	switch {
	case err == nil:
		return c.readBuf, nil
	case errors.Is(err, ErrInvalidUTF8):
		c.end(ErrInvalidUTF8, websocket.StatusInvalidFramePayloadData)
	case websocket.CloseStatus(err) == statusTakenOver:
		c.end(fmt.Errorf("%w: %w", ErrTakenOver, err), 0)
	case websocket.CloseStatus(err) == statusEnded:
		c.end(fmt.Errorf("%w: %w", ErrEnded, err), 0)
	case errors.Is(err, websocket.ErrMessageTooBig): // the library has told the peer
		c.end(ErrMessageTooBig, 0)
	default:
		c.end(fmt.Errorf("%w: %w", ErrClosed, err), 0)
	}
	return nil, c.cause
}

func (c *wsConn) readMessage() error {
	// A context that can't be cancelled costs the library nothing; Close ends
	// a read by closing the connection below it.
	kind, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return err
	}
	if c.readBuf == nil {
		c.readBuf = c.large.Take()
	}
	c.readBuf = c.readBuf[:0]
	for {
		if len(c.readBuf) == cap(c.readBuf) {
			grown := make([]byte, len(c.readBuf), max(firstBuffer, 2*cap(c.readBuf)))
			copy(grown, c.readBuf)
			c.readBuf = grown
		}
		n, err := r.Read(c.readBuf[len(c.readBuf):cap(c.readBuf)])
		c.readBuf = c.readBuf[:len(c.readBuf)+n]
		if err == io.EOF && c.net.eof.Load() {
			// The library takes a connection that ends between two
			// fragments for the end of the message.
			return io.ErrUnexpectedEOF
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if kind == websocket.MessageText && !utf8.Valid(c.readBuf) {
		return ErrInvalidUTF8
	}
	return nil
}

// Write sends each message as one text frame, or in fragments if it is large.
func (c *wsConn) Write(batch [][]byte) error {
	if err := c.writeBatch(batch); err != nil {
		c.end(fmt.Errorf("%w: %w", ErrClosed, err), 0)
		return c.cause
	}
	return nil
}

func (c *wsConn) writeBatch(batch [][]byte) error {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if c.broken || c.ended() {
		return ErrClosed
	}
	c.net.cork()
	var err error
	for _, message := range batch {
		if err = c.writeMessage(message); err != nil {
			break
		}
	}
	err = errors.Join(err, c.net.uncork())
	c.broken = err != nil
	return err
}

func (c *wsConn) writeMessage(message []byte) error {
	if len(message) <= limits.FrameBytes {
		return c.ws.Write(context.Background(), websocket.MessageText, message)
	}
	w, err := c.ws.Writer(context.Background(), websocket.MessageText)
	if err != nil {
		return err
	}
	for fragment := range slices.Chunk(message, limits.FrameBytes) {
		if _, err := w.Write(fragment); err != nil {
			return err
		}
	}
	return w.Close()
}

// Close tells the peer the reason, unless that takes long, and closes.
func (c *wsConn) Close(reason error) {
	c.end(ErrClosed, closeStatus(reason))
	<-c.controlDone
}

// closeStatus translates a reason for Close.
func closeStatus(reason error) websocket.StatusCode {
	switch {
	case errors.Is(reason, ErrGoingAway), errors.Is(reason, context.Canceled):
		return websocket.StatusGoingAway
	case errors.Is(reason, ErrTakenOver):
		return statusTakenOver
	case errors.Is(reason, ErrEnded):
		return statusEnded
	case errors.Is(reason, ErrViolation):
		return websocket.StatusProtocolError
	case errors.Is(reason, ErrMessageTooBig):
		return websocket.StatusMessageTooBig
	case errors.Is(reason, ErrInvalidUTF8):
		return websocket.StatusInvalidFramePayloadData
	default:
		return websocket.StatusNormalClosure
	}
}

// end ends the connection; the first caller's cause is the one that Read and
// Write return. A status of 0 sends no close frame. The caller is not writing.
func (c *wsConn) end(cause error, status websocket.StatusCode) {
	c.ending.Do(func() {
		c.cause = cause
		close(c.done)
		c.watch.Stop()
		if status != 0 {
			c.sayGoodbye(status)
		}
		_ = c.net.Close()
		_ = c.ws.CloseNow()
		c.large.Close()
	})
}

func (c *wsConn) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// sayGoodbye sends a close frame. The deadline ends a Write that is stuck as
// well, so that this one's turn comes in time.
func (c *wsConn) sayGoodbye(status websocket.StatusCode) {
	_ = c.net.SetWriteDeadline(time.Now().Add(closeTimeout))
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if !c.broken {
		payload := []byte{byte(status >> 8), byte(status)}
		_, _ = c.net.Write(controlFrame(opClose, payload, c.client))
	}
}
