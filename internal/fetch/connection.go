package fetch

import (
	"errors"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// errClosed ends what a client that is gone has under way.
var errClosed = errors.New("the client has disconnected")

// Connection makes the requests of one client. Its methods may be called at the
// same time.
type Connection struct {
	fetcher *Fetcher
	notify  func(*protocol.HTTPBodyDeltaNotification) error
	scope   scope

	mu        sync.Mutex
	exchanges int                 // guarded by mu
	streams   map[string]struct{} // the ids of streams, guarded by mu
	routes    *routes             // nil until they are needed, guarded by mu
}

// Close aborts everything under way at once and waits for its end.
func (c *Connection) Close() {
	c.scope.close()
	c.mu.Lock()
	routes := c.routes
	c.mu.Unlock()
	if routes != nil {
		routes.close()
	}
}

// reserve takes a place for an exchange, and the id if its body is streamed.
func (c *Connection) reserve(p *protocol.HTTPRequestParams) error {
	if p.StreamResponse && len(p.RequestID) > limits.HTTPRequestIDBytes {
		return invalid("http/request streamResponse requestId is too long: it has %d bytes, and may have %d",
			len(p.RequestID), limits.HTTPRequestIDBytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.StreamResponse {
		if _, taken := c.streams[p.RequestID]; taken {
			return invalid("http/request streamResponse requestId `%s` is already active", p.RequestID)
		}
	}
	if c.exchanges >= limits.HTTPExchanges {
		return failed("this client has %d requests and streams under way, which is as many as it may; wait for one to end", limits.HTTPExchanges)
	}
	if !c.fetcher.exchanges.take(1) {
		return failed("the executor has %d requests and streams under way, which is as many as it may; try again later", limits.HTTPExchangesTotal)
	}
	c.exchanges++
	if p.StreamResponse {
		c.streams[p.RequestID] = struct{}{}
	}
	return nil
}

// release gives a place back.
func (c *Connection) release() {
	c.mu.Lock()
	c.exchanges--
	c.mu.Unlock()
	c.fetcher.exchanges.give(1)
}

// forget frees the id of a stream.
func (c *Connection) forget(id string) {
	c.mu.Lock()
	delete(c.streams, id)
	c.mu.Unlock()
}

// route returns the routes, which are made when the first request is sent.
func (c *Connection) route() (*routes, error) {
	s, err := c.fetcher.prepare()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.routes == nil {
		c.routes = newRoutes(c, s)
	}
	return c.routes, nil
}
