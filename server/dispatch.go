package server

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// method is how one kind of request is handled.
type method struct {
	// family names the method's group in the errors of the handshake gate. A
	// method without one passes the gate at any time.
	family string
	lane   rpc.Lane
	begin  func(c *connection, family string, r rpc.Request) rpc.Reply
}

// methods is everything that a client can ask for. To add one: its types in
// package protocol, a line here, and its handler beside the others.
var methods map[string]method

func init() {
	methods = map[string]method{
		protocol.MethodInitialize:        {"", rpc.LaneOrdinary, handle((*connection).initialize)},
		protocol.MethodEnvironmentInfo:   {"environment info", rpc.LaneControl, handle((*connection).environmentInfo)},
		protocol.MethodEnvironmentStatus: {"environment status", rpc.LaneControl, handle((*connection).environmentStatus)},
		protocol.MethodProcessStart:      {"exec", rpc.LaneOrdinary, handle((*connection).processStart)},
		protocol.MethodProcessRead:       {"exec", rpc.LaneOrdinary, handle((*connection).processRead)},
		protocol.MethodProcessWrite:      {"exec", rpc.LaneOrdinary, handle((*connection).processWrite)},
		protocol.MethodProcessSignal:     {"exec", rpc.LaneControl, handle((*connection).processSignal)},
		protocol.MethodProcessTerminate:  {"exec", rpc.LaneControl, handle((*connection).processTerminate)},
		protocol.MethodProcessCloseStdin: {"exec", rpc.LaneOrdinary, handle((*connection).processCloseStdin)},
	}
}

// handle makes a method of a handler: the parameters are decoded first, then
// the gate is passed, as the dialect has it.
func handle[P any](handler func(c *connection, r rpc.Request, params *P) rpc.Reply) func(*connection, string, rpc.Request) rpc.Reply {
	return func(c *connection, family string, r rpc.Request) rpc.Reply {
		params, err := protocol.Decode[P](r.Params)
		if err == nil && family != "" {
			err = c.gate(family)
		}
		if err != nil {
			return rpc.Reply{Err: err}
		}
		return handler(c, r, &params)
	}
}

// gate refuses methods of a family while the handshake is not done.
func (c *connection) gate(family string) error {
	switch c.handshake {
	case ready:
		return nil
	case attached:
		return protocol.Errorf(protocol.CodeInvalidRequest,
			"client must send initialized before using %s methods", family)
	case connected:
	}
	return protocol.Errorf(protocol.CodeInvalidRequest,
		"client must call initialize before using %s methods", family)
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
	log        *slog.Logger
	rpc        *rpc.Conn
	handshake  handshake
	attachment atomic.Pointer[session.Attachment]
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

// Notification implements [rpc.Handler]. One ends the handshake, repeats do
// nothing; the other opens the window of a process.
func (c *connection) Notification(_ context.Context, name string, params jsontext.Value) error {
	switch {
	case name == protocol.NotificationInitialized && c.handshake == attached:
		c.handshake = ready
		return nil
	case name == protocol.NotificationInitialized && c.handshake == ready:
		return nil
	case name == protocol.NotificationProcessWindow && c.handshake == ready:
		return c.processWindow(params)
	}
	return transport.ErrViolation
}

// Gone implements [rpc.Handler].
func (c *connection) Gone() {
	if attachment := c.attachment.Load(); attachment != nil {
		attachment.Detach()
	}
}
