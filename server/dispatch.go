package server

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/protocol"
)

// method is how one kind of request is handled.
type method struct {
	// family names the method's group in the errors of the handshake gate.
	family string
	lane   rpc.Lane
	begin  func(c *connection, family string, r rpc.Request) rpc.Reply
}

// methods is everything that a client can ask for. To add one: its types in
// package protocol, a line here, and its handler beside the others.
var methods map[string]method

func init() {
	methods = map[string]method{
		protocol.MethodInitialize:        {"", rpc.LaneOrdinary, ungated((*connection).initialize)},
		protocol.MethodEnvironmentInfo:   {"environment info", rpc.LaneControl, gated((*connection).environmentInfo)},
		protocol.MethodEnvironmentStatus: {"environment status", rpc.LaneControl, gated((*connection).environmentStatus)},
		protocol.MethodProcessStart:      {"exec", rpc.LaneOrdinary, gated((*connection).processStart)},
		protocol.MethodProcessRead:       {"exec", rpc.LaneOrdinary, gated((*connection).processRead)},
		protocol.MethodProcessWrite:      {"exec", rpc.LaneOrdinary, gated((*connection).processWrite)},
		protocol.MethodProcessSignal:     {"exec", rpc.LaneControl, gated((*connection).processSignal)},
		protocol.MethodProcessTerminate:  {"exec", rpc.LaneControl, gated((*connection).processTerminate)},
		protocol.MethodProcessCloseStdin: {"exec", rpc.LaneOrdinary, gated((*connection).processCloseStdin)},
	}
}

// handler handles a request whose parameters have been decoded.
type handler[P any] func(c *connection, r rpc.Request, params *P) rpc.Reply

// ungated decodes the parameters and handles the request, whatever the state of
// the handshake.
func ungated[P any](handle handler[P]) func(*connection, string, rpc.Request) rpc.Reply {
	return func(c *connection, _ string, r rpc.Request) rpc.Reply {
		params, err := protocol.Decode[P](r.Params)
		if err != nil {
			return rpc.Reply{Err: err}
		}
		return handle(c, r, &params)
	}
}

// gated is like ungated, but only after the handshake. Parameters that do not
// decode are reported first, as the dialect has it.
func gated[P any](handle handler[P]) func(*connection, string, rpc.Request) rpc.Reply {
	return func(c *connection, family string, r rpc.Request) rpc.Reply {
		return ungated(func(c *connection, r rpc.Request, params *P) rpc.Reply {
			switch c.handshake {
			case connected:
				return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidRequest,
					"client must call initialize before using %s methods", family)}
			case attached:
				return rpc.Reply{Err: protocol.Errorf(protocol.CodeInvalidRequest,
					"client must send initialized before using %s methods", family)}
			case ready:
			}
			return handle(c, r, params)
		})(c, family, r)
	}
}

// handshake is how far a connection's handshake has come.
type handshake int

const (
	connected handshake = iota // initialize must come first
	attached                   // then initialized
	ready                      // then anything
)

// connection is one client's connection. It implements [rpc.Handler].
//
// Its fields are set while messages are handled one by one, and only read once
// requests run side by side.
type connection struct {
	server     *Server
	rpc        *rpc.Conn
	handshake  handshake
	attachment *session.Attachment
}

// Handshaking implements [rpc.Handler].
func (c *connection) Handshaking() bool { return c.handshake != ready }

// Lane implements [rpc.Handler].
func (c *connection) Lane(name string) rpc.Lane { return methods[name].lane }

// Begin implements [rpc.Handler].
func (c *connection) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	m, known := methods[r.Method]
	if !known {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound,
			"exec-server stub does not implement `%s` yet", r.Method)}
	}
	return m.begin(c, m.family, r)
}

// Notification implements [rpc.Handler]. The one notification of clients ends
// the handshake; repeats do nothing.
func (c *connection) Notification(_ context.Context, name string, _ jsontext.Value) error {
	if name != protocol.NotificationInitialized || c.handshake == connected {
		return rpc.ErrViolation
	}
	if c.handshake == attached {
		c.handshake = ready
	}
	return nil
}

// Gone implements [rpc.Handler].
func (c *connection) Gone() {
	if c.attachment != nil {
		c.attachment.Detach()
	}
}
