package server

import (
	"context"

	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/protocol"
)

// initialize opens a session or resumes one.
func (c *connection) initialize(_ rpc.Request, params *protocol.InitializeParams) rpc.Reply {
	if c.handshake != connected {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidRequest,
			"initialize may only be sent once per connection")}
	}
	attachment, err := c.attach(params.ResumeSessionID)
	// The session id would let a reader of the log take the session over.
	log := c.log.With("client", params.ClientName[:min(len(params.ClientName), 100)],
		"resumed", params.ResumeSessionID != nil)
	if err != nil {
		log.Warn("session refused")
		return rpc.Reply{Err: err}
	}
	log.Info("session attached")
	c.attachment = attachment
	c.handshake = attached
	return rpc.Reply{
		Result: &protocol.InitializeResult{
			SessionID:       attachment.Session().ID(),
			EnvironmentInfo: c.server.info,
		},
		Sent: attachment.Announce,
	}
}

func (c *connection) attach(resume *string) (*session.Attachment, error) {
	if resume == nil {
		return c.server.sessions.Create(c.rpc)
	}
	return c.server.sessions.Resume(*resume, c.rpc)
}

func (c *connection) environmentInfo(rpc.Request, *protocol.Unit) rpc.Reply {
	return rpc.Reply{Result: &c.server.info}
}

func (c *connection) environmentStatus(rpc.Request, *protocol.Unit) rpc.Reply {
	return rpc.Reply{Result: &protocol.EnvironmentStatus{Status: protocol.StatusReady}}
}

// processes returns the process table of the connection's session.
func (c *connection) processes() *process.Table { return c.attachment.Session().Processes() }

func (c *connection) processStart(_ rpc.Request, params *protocol.StartParams) rpc.Reply {
	start, err := c.processes().Start(params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Wait: func(context.Context) rpc.Reply {
		// Nothing of the process is sent before the answer to its start.
		reply := rpc.Reply{Sent: start.Announce}
		if reply.Err = start.Run(); reply.Err == nil {
			reply.Result = &protocol.StartResult{
				ProcessID: params.ProcessID, SandboxType: new(protocol.SandboxNone),
			}
		}
		return reply
	}}
}

func (c *connection) processRead(r rpc.Request, params *protocol.ReadParams) rpc.Reply {
	result, pending, err := c.processes().Read(params)
	if pending == nil {
		return rpc.Reply{Result: result, Err: err}
	}
	hurry := r.Hurry // and nothing else of the request is kept
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		if err := pending.Wait(ctx, hurry); err != nil {
			return rpc.Reply{Err: err}
		}
		return rpc.Reply{Wait: func(context.Context) rpc.Reply {
			result, err := pending.Result()
			return rpc.Reply{Result: result, Err: err}
		}}
	}}
}

func (c *connection) processWrite(_ rpc.Request, params *protocol.WriteParams) rpc.Reply {
	write, err := c.processes().Write(params)
	if write.Wait == nil {
		return rpc.Reply{Result: &protocol.WriteResult{Status: write.Status}, Err: err}
	}
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		status, err := write.Wait(ctx)
		return rpc.Reply{Result: &protocol.WriteResult{Status: status}, Err: err}
	}}
}

func (c *connection) processCloseStdin(_ rpc.Request, params *protocol.CloseStdinParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.CloseStdinResult{}, Err: c.processes().CloseStdin(params)}
}

func (c *connection) processSignal(_ rpc.Request, params *protocol.SignalParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.SignalResult{}, Err: c.processes().Signal(params)}
}

func (c *connection) processTerminate(_ rpc.Request, params *protocol.TerminateParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.TerminateResult{Running: c.processes().Terminate(params)}}
}
