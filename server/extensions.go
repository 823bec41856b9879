package server

import (
	"context"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/protocol"
)

// What stands here is not in the dialect: see protocol/extensions.go.

func (c *connection) closeStdin(_ rpc.Request, params *protocol.CloseStdinParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.CloseStdinResult{}, Err: c.processes().CloseStdin(params)}
}

func (c *connection) resize(_ rpc.Request, params *protocol.ResizeParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.ResizeResult{}, Err: c.processes().Resize(params)}
}

func (c *connection) sendSignal(_ rpc.Request, params *protocol.SendSignalParams) rpc.Reply {
	result, err := c.processes().SendSignal(params)
	return rpc.Reply{Result: result, Err: err}
}

func (c *connection) terminateTree(_ rpc.Request, params *protocol.TerminateTreeParams) rpc.Reply {
	pending, err := c.processes().TerminateTree(params, protocol.ReasonTerminated)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		result, err := pending.Wait(ctx)
		return rpc.Reply{Result: result, Err: err}
	}}
}

// list has a gate of its own: an operator needs no handshake.
func (c *connection) list(_ rpc.Request, params *protocol.ListParams) rpc.Reply {
	if params.SessionID == nil {
		if err := c.gate("exec"); err != nil {
			return rpc.Reply{Err: err}
		}
		return rpc.Reply{Wait: func(context.Context) rpc.Reply {
			return rpc.Reply{Result: c.processes().List(params)}
		}}
	}
	if c.from != operator {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidParams,
			"`sessionId` can be given on the control socket only: leave it out for the processes of this session")}
	}
	s, err := c.anySession(*params.SessionID)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Wait: func(context.Context) rpc.Reply {
		return rpc.Reply{Result: s.Processes().List(params)}
	}}
}
