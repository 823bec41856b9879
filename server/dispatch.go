package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/airlock-exec/airlock/internal/fetch"
	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/watch"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/session"
	"github.com/airlock-exec/airlock/internal/spare"
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
	// feature, if not empty, can be switched off, and the method with it.
	feature string
	// operator: only whoever runs the executor may call it.
	operator bool
}

// methods is everything that a client can ask for. To add one: its types in
// package protocol, a line here, and its handler beside the others.
// The table is made when it is first needed.
var methods = sync.OnceValue(func() map[string]method {
	const ordinary, control = rpc.LaneOrdinary, rpc.LaneControl
	all := map[string]method{
		protocol.MethodInitialize:        {lane: ordinary, begin: handle((*connection).initialize)},
		protocol.MethodEnvironmentInfo:   {family: "environment info", lane: control, begin: handle((*connection).environmentInfo)},
		protocol.MethodEnvironmentStatus: {family: "environment status", lane: control, begin: handle((*connection).environmentStatus)},
		protocol.MethodProcessStart:      {family: "exec", lane: ordinary, begin: handle((*connection).processStart)},
		protocol.MethodProcessRead:       {family: "exec", lane: ordinary, begin: handle((*connection).processRead)},
		protocol.MethodProcessWrite:      {family: "exec", lane: ordinary, begin: handle((*connection).processWrite)},
		protocol.MethodProcessSignal:     {family: "exec", lane: control, begin: handle((*connection).processSignal)},
		protocol.MethodProcessTerminate:  {family: "exec", lane: control, begin: handle((*connection).processTerminate)},

		protocol.MethodEnvironmentConfigRead: {family: "environment config", lane: ordinary, begin: handle((*connection).environmentConfigRead)},
		protocol.MethodDiscoverRoots:         {family: "capability discovery", lane: ordinary, begin: handle((*connection).discoverRoots)},
		protocol.MethodDiscoverCapabilities:  {family: "capability discovery", lane: ordinary, begin: handle((*connection).discoverCapabilities)},

		protocol.MethodHTTPRequest: {family: "http", lane: ordinary, begin: handle((*connection).httpRequest)},

		protocol.MethodProcessCloseStdin:    {family: "exec", lane: ordinary, begin: handle((*connection).closeStdin), feature: protocol.FeatureCloseStdin},
		protocol.MethodProcessResize:        {family: "exec", lane: control, begin: handle((*connection).resize), feature: protocol.FeatureResize},
		protocol.MethodProcessSendSignal:    {family: "exec", lane: control, begin: handle((*connection).sendSignal), feature: protocol.FeatureSignal},
		protocol.MethodProcessTerminateTree: {family: "exec", lane: control, begin: handle((*connection).terminateTree), feature: protocol.FeatureTerminate},
		protocol.MethodProcessList:          {lane: control, begin: handle((*connection).list), feature: protocol.FeatureList},

		protocol.MethodSessionList:      {lane: control, begin: handle((*connection).sessionList), operator: true},
		protocol.MethodObserve:          {lane: ordinary, begin: handle((*connection).observe), operator: true},
		protocol.MethodSessionTerminate: {lane: control, begin: handle((*connection).sessionTerminate), operator: true},
	}
	maps.Copy(all, fileMethods())
	return all
})

// handle makes a method of a handler: the parameters are decoded first, then
// the gate is passed, as the dialect has it.
func handle[P any](handler func(c *connection, r rpc.Request, params *P) rpc.Reply) func(*connection, string, rpc.Request) rpc.Reply {
	return func(c *connection, family string, r rpc.Request) rpc.Reply {
		params, err := protocol.DecodeUsing[P](r.Params, c.blocks.TakeSized)
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
	switch c.progress() {
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

// role is who is at the other end of a connection.
type role int

const (
	client   role = iota // of the protocol
	operator             // who runs the executor, and may be a client besides
)

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
// requests run side by side; the atomic ones at any time.
type connection struct {
	server     *Server
	log        *slog.Logger
	rpc        *rpc.Conn
	from       role
	pace       pace // of what an operator observes
	files      *files.Files
	blocks     spare.Buffers // of what has been written to files
	watches    *watch.Watches
	http       *fetch.Connection
	looks      chan struct{} // a place for each request that looks at files for long
	handshake  atomic.Int32  // a handshake
	attachment atomic.Pointer[session.Attachment]
}

// progress is how far the handshake has come.
func (c *connection) progress() handshake { return handshake(c.handshake.Load()) }

// Handshaking implements [rpc.Handler]. What an operator may ask for as such has
// nothing to do with the handshake.
func (c *connection) Handshaking(name string) bool {
	if c.from == operator && (methods()[name].operator || name == protocol.MethodProcessList) {
		return false
	}
	return c.progress() != ready
}

// Lane implements [rpc.Handler].
func (c *connection) Lane(name string) rpc.Lane { return methods()[name].lane }

// Begin implements [rpc.Handler].
func (c *connection) Begin(_ context.Context, r rpc.Request) rpc.Reply {
	m, known := methods()[r.Method]
	// What is switched off is so for clients.
	if !known || c.from != operator && (m.operator || c.server.lacks(r.Method, m.feature)) {
		return rpc.Reply{Err: protocol.Errorf(protocol.CodeMethodNotFound,
			"exec-server stub does not implement `%s` yet", r.Method)}
	}
	return m.begin(c, m.family, r)
}

// lacks tells whether a method is switched off.
func (s *Server) lacks(name, feature string) bool {
	return feature != "" && !s.has(feature) || slices.Contains(s.config.Disable, capabilityOf(name))
}

// has tells whether a feature is not switched off.
func (s *Server) has(feature string) bool { return slices.Contains(s.features, feature) }

// Notification implements [rpc.Handler]. One ends the handshake, repeats do
// nothing; the other opens the window of a process.
func (c *connection) Notification(_ context.Context, name string, params jsontext.Value) error {
	switch {
	case name == protocol.NotificationInitialized && c.progress() == attached:
		c.handshake.Store(int32(ready))
		return nil
	case name == protocol.NotificationInitialized && c.progress() == ready:
		return nil
	case name == protocol.NotificationProcessWindow && c.progress() == ready &&
		c.server.has(protocol.FeatureProcessWindow):
		return c.processWindow(params)
	}
	return transport.ErrViolation
}

// Gone implements [rpc.Handler].
func (c *connection) Gone() {
	if attachment := c.attachment.Load(); attachment != nil {
		attachment.Detach()
	}
	c.http.Close()
	c.watches.Close()
	c.files.Close()
	c.blocks.Close()
}
