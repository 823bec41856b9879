package conformance

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// message is one that the server has sent, and that no check has taken yet.
type message struct {
	tree    map[string]any
	at      time.Time
	claimed bool
	joined  bool // of the end of a stream: a step has taken the whole
}

// conn is a connection to the executor. It keeps what comes until the end of
// the case, so that checks can ask in any order.
type conn struct {
	net     net.Conn
	reader  sync.WaitGroup
	writing sync.Mutex // held while frames are written

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something has come
	answers []*message
	notes   []*message
	events  map[string][]event // of each process, as they came
	pongs   []string
	faults  []string  // what no server may do, whatever was asked
	ended   string    // how the connection ended; "" while it is open
	taken   time.Time // when what a step has taken last had come
	started []string  // ids of processes that may have to be killed
	nextID  int
	dropped bool // a step has dropped it
}

// connect opens a connection. Its owner has to cut it.
func (t *target) connect(ctx context.Context) (*conn, error) {
	socket, reader, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{net: socket, changed: make(chan struct{}), events: map[string][]event{}}
	c.reader.Go(func() { c.read(reader) })
	return c, nil
}

// cut ends the connection without a word, and waits for its reader.
func (c *conn) cut() {
	_ = c.net.Close()
	c.reader.Wait()
}

// read takes what the server sends until the connection ends.
func (c *conn) read(reader *bufio.Reader) {
	for {
		f, err := readFrame(reader)
		c.mu.Lock()
		if err == nil {
			err = c.takeLocked(f)
		}
		if err != nil && c.ended == "" {
			c.ended = err.Error()
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
		if f.opcode == opPing {
			_ = c.write(time.Now().Add(time.Second), frame{opcode: opPong, fin: true, payload: f.payload})
		}
	}
}

// takeLocked files one frame. An error ends the connection.
func (c *conn) takeLocked(f frame) error {
	if f.rsv != 0 || !f.fin {
		c.faults = append(c.faults, "a frame that is compressed, or only a part")
	}
	switch f.opcode {
	case opPing:
	case opPong:
		c.pongs = append(c.pongs, string(f.payload))
	case opClose:
		code := uint16(1005) // there is none
		if len(f.payload) >= 2 {
			code = binary.BigEndian.Uint16(f.payload)
		}
		return fmt.Errorf("close frame %d", code)
	case opText:
		c.fileLocked(f.payload)
	default:
		c.faults = append(c.faults, fmt.Sprintf("a frame with opcode %d", f.opcode))
	}
	return nil
}

// fileLocked files one message.
func (c *conn) fileLocked(text []byte) {
	tree, err := decode(text)
	object, ok := tree.(map[string]any)
	if err != nil || !ok {
		c.faults = append(c.faults, "a message that is no JSON object: "+shorten(string(text)))
		return
	}
	m := &message{tree: object, at: time.Now()}
	method, isText := object["method"].(string)
	if _, hasMethod := object["method"]; !hasMethod {
		c.answers = append(c.answers, m)
		return
	}
	if _, hasID := object["id"]; hasID || !isText {
		c.faults = append(c.faults, "a request: "+shorten(string(text)))
		return
	}
	c.notes = append(c.notes, m)
	e, err := parseEvent(method, object["params"])
	if err == nil && len(object) != 2 {
		err = errors.New("a notification with members besides method and params: " + shorten(string(text)))
	}
	if err != nil {
		c.faults = append(c.faults, err.Error())
		return
	}
	if id, ok := e.params["processId"].(string); ok {
		c.events[id] = append(c.events[id], e)
	}
}

// errEnded is why there is nothing to wait for any more.
var errEnded = errors.New("the connection has ended")

// wait waits until found, called with the lock held, returns true.
func (c *conn) wait(ctx context.Context, what string, found func() bool) error {
	for {
		c.mu.Lock()
		ok, ended, changed := found(), c.ended, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended != "":
			return fmt.Errorf("waiting for %s: %w (%s)", what, errEnded, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// answer takes the next answer, or the next to an id.
func (c *conn) answer(ctx context.Context, what string, id any) (*message, error) {
	var taken *message
	err := c.wait(ctx, what, func() bool {
		for _, m := range c.answers {
			if !m.claimed && (id == nil || encode(m.tree["id"]) == encode(id)) {
				m.claimed, c.taken = true, m.at
				taken = m
				return true
			}
		}
		return false
	})
	return taken, err
}

// note takes the next notification of a method, and of a process or a stream if
// one is named.
func (c *conn) note(ctx context.Context, method, of string) (*message, error) {
	var taken *message
	err := c.wait(ctx, "notification "+method, func() bool {
		for _, m := range c.notes {
			params, _ := m.tree["params"].(map[string]any)
			if !m.claimed && m.tree["method"] == method && (of == "" || params["processId"] == of || params["requestId"] == of) {
				m.claimed, c.taken = true, m.at
				taken = m
				return true
			}
		}
		return false
	})
	return taken, err
}

// eventsOf returns what has been told of a process.
func (c *conn) eventsOf(process string) []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events[process])
}

// write sends frames, in one piece.
func (c *conn) write(deadline time.Time, frames ...frame) error {
	var b []byte
	for _, f := range frames {
		b = f.append(b)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.net.SetWriteDeadline(deadline)
	_, err := c.net.Write(b)
	return err
}

// over reports whether the connection has ended.
func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended != ""
}

// leftover returns what came and nobody asked for, or that must not come at all.
func (c *conn) leftover() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	faults := slices.Clone(c.faults)
	for _, m := range c.answers {
		if !m.claimed && !c.dropped {
			faults = append(faults, "an answer that nobody waits for: "+show(m.tree))
		}
	}
	return faults
}
