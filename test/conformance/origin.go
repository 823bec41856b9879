package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// origin is what the executor sends the HTTP requests of a case to: two loopback
// listeners that answer as the case has it, and keep what they were asked. Whoever
// makes one closes it.
type origin struct {
	listeners []net.Listener
	answers   map[string]*originAnswer // by the target of the request
	working   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something has been noted
	gates   map[string]chan struct{}
	conns   map[net.Conn]bool
	asked   []*originRequest
	left    []string // targets whose connection the executor has ended meanwhile
	closed  bool
}

// originRequest is a request as it came.
type originRequest struct {
	target  string
	tree    map[string]any
	claimed bool
}

// originTime bounds how long an origin waits for a request or its parts, and for
// the executor to take an answer: what is forgotten ends.
const originTime = time.Minute

// newOrigin begins to listen.
func newOrigin(ctx context.Context) (*origin, error) {
	o := &origin{changed: make(chan struct{}), gates: map[string]chan struct{}{}, conns: map[net.Conn]bool{}}
	for range 2 {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			o.close()
			return nil, fmt.Errorf("an origin for HTTP requests: %w", err)
		}
		o.listeners = append(o.listeners, listener)
	}
	return o, nil
}

// host is the name and port of the origin, or of the other one.
func (o *origin) host(i int) string { return o.listeners[i].Addr().String() }

// serve begins to answer.
func (o *origin) serve(answers map[string]*originAnswer) {
	o.answers = answers
	for i, listener := range o.listeners {
		o.working.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if !o.keep(conn) {
					return
				}
				o.working.Go(func() {
					o.connection(conn, "http://"+o.host(i))
					o.forget(conn)
				})
			}
		})
	}
}

// close ends all of it, and waits.
func (o *origin) close() {
	o.mu.Lock()
	o.closed = true
	for conn := range o.conns {
		_ = conn.Close()
	}
	o.mu.Unlock()
	for _, listener := range o.listeners {
		_ = listener.Close()
	}
	o.working.Wait()
}

func (o *origin) keep(conn net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_ = conn.Close()
		return false
	}
	o.conns[conn] = true
	return true
}

func (o *origin) forget(conn net.Conn) {
	o.mu.Lock()
	delete(o.conns, conn)
	o.mu.Unlock()
	_ = conn.Close()
}

// connection answers the requests of one connection.
func (o *origin) connection(conn net.Conn, at string) {
	reader := bufio.NewReader(conn)
	for {
		_ = conn.SetDeadline(time.Now().Add(originTime))
		target, tree, err := readRequest(reader)
		if err != nil {
			return
		}
		tree["at"] = at
		o.note(func() { o.asked = append(o.asked, &originRequest{target: target, tree: tree}) })
		answer, ok := o.answers[target]
		if !ok {
			answer = &originAnswer{raw: true, parts: []originPart{{text: "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"}}}
		}
		gone := make(chan struct{}) // the executor has nothing to say meanwhile, and so it has left
		o.working.Go(func() {
			defer close(gone)
			_, _ = reader.Peek(1)
		})
		finished := o.send(conn, answer, gone)
		if !finished {
			o.note(func() { o.left = append(o.left, target) })
		}
		if !finished || answer.close {
			_ = conn.Close()
			<-gone
			return
		}
		<-gone // or there is the next request
	}
}

// send sends an answer, and reports whether the executor has waited for it.
func (o *origin) send(conn io.Writer, answer *originAnswer, gone <-chan struct{}) bool {
	for _, part := range answer.parts {
		if part.gate != "" {
			select {
			case <-o.gate(part.gate):
			case <-gone:
				return false
			}
			continue
		}
		if _, err := io.WriteString(conn, part.text); err != nil {
			return false
		}
	}
	return true
}

// gate is what answers wait at until a step opens it.
func (o *origin) gate(name string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gates[name] == nil {
		o.gates[name] = make(chan struct{})
	}
	return o.gates[name]
}

func (o *origin) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.changed)
	o.changed = make(chan struct{})
}

// wait waits until found, called with the lock held, returns true.
func (o *origin) wait(ctx context.Context, what string, found func() bool) error {
	for {
		o.mu.Lock()
		ok, changed := found(), o.changed
		o.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// request takes the next request for a target.
func (o *origin) request(ctx context.Context, target string) (map[string]any, error) {
	var taken *originRequest
	err := o.wait(ctx, "a request for "+target, func() bool {
		taken = o.nextLocked(target)
		if taken != nil {
			taken.claimed = true
		}
		return taken != nil
	})
	if err != nil {
		return nil, err
	}
	return taken.tree, nil
}

// nextLocked returns the next request for a target that has come and that no step
// has taken, or nil.
func (o *origin) nextLocked(target string) *originRequest {
	for _, request := range o.asked {
		if !request.claimed && request.target == target {
			return request
		}
	}
	return nil
}
