package server

import (
	"context"

	"github.com/airlock-exec/airlock/internal/fetch"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

// newFetcher returns what makes requests, and why it must not.
func newFetcher(config *Config) (*fetch.Fetcher, error) {
	asked := fetch.Config{MaxBodyBytes: config.HTTPMaxBody, Deny: config.HTTPDeny, Logger: config.Logger}
	fetcher, err := fetch.New(asked)
	if err != nil {
		asked.Deny = nil
		fetcher, _ = fetch.New(asked) // only a bad entry is an error
	}
	return fetcher, err
}

// httpRequest makes an HTTP request beside all others, as an origin may never
// answer.
func (c *connection) httpRequest(_ rpc.Request, params *protocol.HTTPRequestParams) rpc.Reply {
	if err := c.server.httpFault; err != nil {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInternal, "http/request failed: %v", err)}
	}
	exchange, err := c.http.Begin(params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{
		Parked: true,
		Wait: func(ctx context.Context) rpc.Reply {
			result, err := exchange.Do(ctx)
			return rpc.Reply{Result: result, Err: err, Sent: exchange.Sent}
		},
		Full: func() rpc.Reply {
			return rpc.Reply{Sent: exchange.Sent, Err: protocol.Errorf(protocol.CodeInternal,
				"http/request failed: too much of this connection waits already; try again when some of it has been answered")}
		},
	}
}

// bodyDelta queues a part of a body. It waits while the client is slow, and fails
// when the connection is over.
func (c *connection) bodyDelta(n *protocol.HTTPBodyDeltaNotification) error {
	notify := c.rpc.Notify
	if len(n.DeltaBase64) > limits.ChunkBytes {
		notify = c.rpc.NotifyLarge
	}
	err := notify(func(dst []byte) []byte { return protocol.AppendHTTPBodyDeltaNotification(dst, n) })
	c.rpc.Flush()
	return err
}
