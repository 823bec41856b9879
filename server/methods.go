package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/process"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// initialize opens a session or resumes one.
func (c *connection) initialize(_ rpc.Request, params *protocol.InitializeParams) rpc.Reply {
	if c.progress() != connected {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidRequest,
			"initialize may only be sent once per connection")}
	}
	attachment, err := c.attach(params)
	// The session id would let a reader of the log take the session over.
	log := c.log.With("client", clientName(params), "resumed", params.ResumeSessionID != nil)
	if err != nil {
		log.Warn("session refused", "reason", refusal(err))
		return rpc.Reply{Err: err}
	}
	log.Info("session attached")
	c.attachment.Store(attachment)
	c.handshake.Store(int32(attached))
	return rpc.Reply{
		Result: &protocol.InitializeResult{
			SessionID:       attachment.Session().ID(),
			EnvironmentInfo: c.server.info,
		},
		Sent: attachment.Announce,
	}
}

// refusal says why there is no session, without its id.
func refusal(err error) string {
	refused, ok := errors.AsType[*protocol.Error](err)
	switch {
	case !ok:
		return err.Error()
	case refused.Code == protocol.CodeSessionAttached:
		return "another connection is attached to it"
	default:
		return "there is no such session"
	}
}

// clientName returns what a client calls itself, which may be long.
func clientName(params *protocol.InitializeParams) string {
	return strings.ToValidUTF8(params.ClientName[:min(len(params.ClientName), limits.ClientNameBytes)], "")
}

func (c *connection) attach(params *protocol.InitializeParams) (*session.Attachment, error) {
	options := session.Options{ClientName: clientName(params)}
	// What is switched off has no effect, as if it were not known.
	if extra := params.Airlock; extra != nil && c.server.has(protocol.FeatureProcessWindow) {
		options.Window = extra.Window
	}
	if extra := params.Airlock; extra != nil && (c.from == operator || c.server.has(protocol.FeatureTakeover)) {
		options.Takeover = extra.Takeover
	}
	if params.ResumeSessionID == nil {
		return c.server.sessions.Create(peer{c.rpc}, options)
	}
	return c.server.sessions.Resume(*params.ResumeSessionID, peer{c.rpc}, options)
}

// peer is a connection as package session knows it.
type peer struct{ *rpc.Conn }

// Close implements [session.Peer]. A client that has lost its session is told so,
// or it would try to get it back.
func (p peer) Close(reason error) {
	switch {
	case errors.Is(reason, session.ErrTakenOver):
		reason = transport.ErrTakenOver
	case errors.Is(reason, session.ErrEnded):
		reason = transport.ErrEnded
	}
	p.Conn.Close(reason)
}

// stalled is called while the client takes nothing of what is sent to it, and
// when it does again.
func (c *connection) stalled(stalled bool) {
	if attachment := c.attachment.Load(); attachment != nil {
		if stalled {
			c.log.Info("the client takes nothing of what is sent to it: its processes run on")
		} else {
			c.log.Info("the client takes what is sent to it again")
		}
		attachment.Stall(stalled)
	}
}

func (c *connection) environmentInfo(rpc.Request, *protocol.Unit) rpc.Reply {
	return rpc.Reply{Result: &c.server.info}
}

func (c *connection) environmentStatus(rpc.Request, *protocol.Unit) rpc.Reply {
	return rpc.Reply{Result: &protocol.EnvironmentStatus{Status: protocol.StatusReady}}
}

// processes returns the process table of the connection's session.
func (c *connection) processes() *process.Table { return c.attachment.Load().Session().Processes() }

// processWindow lets more output of a process be sent. Parameters that make no
// sense are a violation: there is no answer that could tell.
func (c *connection) processWindow(params jsontext.Value) error {
	grant, err := protocol.Decode[protocol.ProcessWindowNotification](params)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", transport.ErrViolation, protocol.NotificationProcessWindow, err)
	}
	c.attachment.Load().Grant(grant.ProcessID, grant.Bytes)
	return nil
}

func (c *connection) processStart(_ rpc.Request, params *protocol.StartParams) rpc.Reply {
	start, err := c.processes().Start(params)
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Wait: func(context.Context) rpc.Reply {
		// Nothing of the process is sent before the answer to its start.
		reply := rpc.Reply{Sent: start.Announce}
		result, err := start.Run()
		if reply.Err = err; err == nil {
			reply.Result = result
		}
		return reply
	}}
}

func (c *connection) processRead(r rpc.Request, params *protocol.ReadParams) rpc.Reply {
	reading, err := c.processes().Read(params)
	if reading.Pending == nil {
		return readReply(reading, err)
	}
	pending, hurry := reading.Pending, r.Hurry // and nothing else of the request is kept
	return rpc.Reply{Parked: true, Wait: func(ctx context.Context) rpc.Reply {
		if err := pending.Wait(ctx, hurry); err != nil {
			return rpc.Reply{Err: err}
		}
		return rpc.Reply{Wait: func(context.Context) rpc.Reply {
			return readReply(pending.Read())
		}}
	}}
}

func readReply(reading process.Reading, err error) rpc.Reply {
	if err != nil {
		return rpc.Reply{Err: err}
	}
	return rpc.Reply{Result: reading.Result, Sent: reading.Sent}
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

func (c *connection) processSignal(_ rpc.Request, params *protocol.SignalParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.SignalResult{}, Err: c.processes().Signal(params)}
}

func (c *connection) processTerminate(_ rpc.Request, params *protocol.TerminateParams) rpc.Reply {
	return rpc.Reply{Result: &protocol.TerminateResult{Running: c.processes().Terminate(params)}}
}
