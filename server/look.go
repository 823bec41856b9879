package server

import (
	"context"

	"github.com/airlock-exec/airlock/internal/rpc"
)

// look makes a reply of what only looks at files, which can take long, or for ever in
// a file system that does not answer: it holds up no other request but those of its
// kind. What it finds can be large, so that it counts as one of the few that look
// until its answer is on the way.
func look[P, R any](c *connection, find func(context.Context, *P) (R, error), params *P) rpc.Reply {
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		select {
		case c.looks <- struct{}{}:
		case <-ctx.Done():
			return rpc.Reply{Err: context.Cause(ctx)}
		}
		reply := fileReply(find(ctx, params))
		reply.Sent = func() { <-c.looks }
		return reply
	}}
}
