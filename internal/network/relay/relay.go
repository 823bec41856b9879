// Package relay lets programs that have no network but a loopback of their own
// reach some ports on the loopback of the host. They connect to sockets that have
// been made in there; a [Relay] accepts on these from outside, and connects to the
// same port of the host for each connection.
//
// It looks at nothing of what goes through, and can reach nothing else. A
// connection that one side has ended stays open in the other direction.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Budget bounds the connections of all relays that share it.
type Budget struct{ places chan struct{} }

// NewBudget returns a budget of limits.RelayConnectionsTotal.
func NewBudget() *Budget {
	return &Budget{places: make(chan struct{}, limits.RelayConnectionsTotal)}
}

// Relay is what one process reaches. Its methods may be called at any time.
type Relay struct {
	ports  []uint16
	budget *Budget
	own    chan struct{} // a place for each connection
	dial   func(port uint16) (net.Conn, error)
	done   <-chan struct{} // closed when the relay is
	stop   context.CancelFunc
	tasks  sync.WaitGroup // grows only under the lock, while the relay is open

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	open      map[net.Conn]struct{} // both ends of each connection
}

// New returns a relay to ports of the host, which its owner has to close.
func New(budget *Budget, ports []uint16) *Relay {
	r := &Relay{
		ports: ports, budget: budget,
		own:  make(chan struct{}, limits.RelayConnections),
		open: map[net.Conn]struct{}{},
	}
	ctx, stop := context.WithCancel(context.Background())
	r.done, r.stop = ctx.Done(), stop
	r.dial = func(port uint16) (net.Conn, error) {
		dialer := net.Dialer{Timeout: limits.RelayDialTimeout}
		return dialer.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	}
	return r
}

// errClosed is for sockets that come when the process has ended.
var errClosed = errors.New("the process has ended")

// Take begins to accept on listening sockets, one for each port in their order. They
// are the relay's from then on, and closed also if that fails.
func (r *Relay) Take(sockets []*os.File) error {
	listeners := make([]net.Listener, 0, len(sockets))
	var failed error
	for _, socket := range sockets {
		listener, err := net.FileListener(socket) // has a descriptor of its own
		failed = errors.Join(failed, err, socket.Close())
		if err == nil {
			listeners = append(listeners, listener)
		}
	}
	if failed == nil && len(listeners) != len(r.ports) {
		failed = fmt.Errorf("there are %d sockets for %d ports", len(listeners), len(r.ports))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if failed == nil && r.closed {
		failed = errClosed
	}
	if failed != nil {
		closeAll(listeners)
		return fmt.Errorf("accepting connections for the host's loopback: %w", failed)
	}
	r.listeners = append(r.listeners, listeners...)
	for i, listener := range listeners {
		r.tasks.Go(func() { r.accept(listener, r.ports[i]) })
	}
	return nil
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		_ = listener.Close() // nobody has written to it
	}
}

// Close ends all connections, and waits until nothing of the relay is left.
func (r *Relay) Close() {
	r.stop()
	r.mu.Lock()
	r.closed = true
	closeAll(r.listeners)
	for end := range r.open {
		_ = end.Close() // what was under way is lost, as it is with the process
	}
	r.mu.Unlock()
	r.tasks.Wait()
}

// accept hands on the connections to one port until the relay is closed.
func (r *Relay) accept(listener net.Listener, port uint16) {
	for {
		inside, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // there are no descriptors left, or whoever has connected is gone
			if !r.pause() {
				return
			}
			continue
		case !r.enter(inside, port):
			_ = inside.Close() // nothing has gone over it
			return
		}
	}
}

// retryPause is how long to wait after a failure to accept, of which most pass.
const retryPause = 50 * time.Millisecond

// pause waits, and reports whether the relay is still open.
func (r *Relay) pause() bool {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.done:
		return false
	}
}

// enter waits for a place for a connection and carries it from then on. It reports
// false when the relay has been closed.
func (r *Relay) enter(inside net.Conn, port uint16) bool {
	if !r.takePlace() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.givePlace()
		return false
	}
	r.open[inside] = struct{}{}
	r.tasks.Go(func() {
		defer r.givePlace()
		defer r.leave(inside)
		r.carry(inside, port)
	})
	return true
}

func (r *Relay) takePlace() bool {
	select {
	case r.own <- struct{}{}:
	case <-r.done:
		return false
	}
	select {
	case r.budget.places <- struct{}{}:
		return true
	case <-r.done:
		<-r.own
		return false
	}
}

func (r *Relay) givePlace() {
	<-r.budget.places
	<-r.own
}

// leave closes one end.
func (r *Relay) leave(end net.Conn) {
	r.mu.Lock()
	delete(r.open, end)
	r.mu.Unlock()
	_ = end.Close() // it has been ended before, or failed
}

// carry connects a connection with a port of the host, until both have ended it or
// one has failed.
func (r *Relay) carry(inside net.Conn, port uint16) {
	outside, err := r.dial(port)
	if err != nil {
		// Who asks is told as well as can be: it was accepted already.
		abort(inside)
		return
	}
	defer r.leave(outside)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.open[outside] = struct{}{}
	r.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() { pass(inside, outside) })
	pass(outside, inside)
	back.Wait()
}

// pass copies from one end to the other. The end of what is sent is passed on, too;
// a failure ends both directions.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.(*net.TCPConn).CloseWrite() // it listens on TCP, and nothing else is dialled
	}
	if err != nil {
		abort(to)
		abort(from)
	}
}

// abort ends a connection so that the other side takes it for a failure.
func abort(end net.Conn) {
	if tcp, ok := end.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a best effort
	}
	_ = end.Close()
}
