package main

import (
	"reflect"

	"github.com/airlock-exec/airlock/protocol"
)

// openrpcVersion is the version of the specification that the document follows.
const openrpcVersion = "1.3.2"

// openrpcDocument describes the contract. OpenRPC knows requests of clients; what
// it has no words for stands in members that begin with x-.
func openrpcDocument(n *notes) object {
	b := newBuilder(n, "#/components/schemas/")
	var methods []object
	for _, m := range protocol.Contract() {
		methods = append(methods, b.method(&m))
	}
	return object{
		{"openrpc", openrpcVersion},
		{"info", object{
			{"title", "Airlock exec-server"},
			{"version", protocol.CompatibleVersion},
			{"description", "The exec-server protocol of Codex " + protocol.CompatibleVersion + " and what Airlock adds. " +
				"Messages are JSON-RPC 2.0 without the member `jsonrpc`; parameters are objects. " +
				"`x-direction` tells who sends a message, `x-notification` that nothing answers it, `x-phase` how far " +
				"the handshake must have come, `x-feature` which addition of Airlock it belongs to, and " +
				"`x-control-socket` that only connections to the control socket know it. " +
				"Generated from package protocol by `go generate ./protocol`; docs/protocol.md explains it."},
		}},
		{"servers", []object{{
			{"name", "local"},
			{"url", "ws://127.0.0.1:${port}"},
			{"description", "`airlock serve` prints the URL."},
			{"variables", object{{"port", object{
				{"default", "0"}, {"description", "The port that the executor has printed."},
			}}}},
		}}},
		{"methods", methods},
		{"components", object{{"schemas", b.sorted()}}},
	}
}

// method describes a message.
func (b *builder) method(m *protocol.Message) object {
	o := object{{"name", m.Method}, {"summary", m.Summary}}
	if about := b.notes.about(m.Params.Type); m.Params.Type != reflect.TypeFor[protocol.Unit]() && about != "" {
		o = append(o, member{"description", about})
	}
	o = append(o, member{"paramStructure", "by-name"}, member{"params", b.parameters(m.Params.Type)})
	if !m.IsNotification() {
		result := object{{"name", m.Result.Type.Name()}, {"schema", b.schema(m.Result.Type)}}
		o = append(o, member{"result", result}, member{"errors", failures(m)})
	}
	direction := "client-to-server"
	if m.Sender == protocol.Executor {
		direction = "server-to-client"
	}
	o = append(o,
		member{"x-direction", direction}, member{"x-notification", m.IsNotification()}, member{"x-phase", m.Phase})
	if m.Feature != "" {
		o = append(o, member{"x-feature", m.Feature})
	}
	if m.ControlSocket {
		o = append(o, member{"x-control-socket", true})
	}
	return o
}

// parameters describes each member of the parameters.
func (b *builder) parameters(t reflect.Type) []object {
	descriptors := []object{}
	members, _ := protocol.Members(t)
	for _, m := range members {
		descriptor := object{{"name", m.Name}}
		if about := b.notes.field(t, m.Field); about != "" {
			descriptor = append(descriptor, member{"description", about})
		}
		descriptors = append(descriptors, append(descriptor,
			member{"required", m.Required}, member{"schema", b.member(m)}))
	}
	return descriptors
}

func failures(m *protocol.Message) []object {
	var list []object
	for _, f := range m.Failures {
		list = append(list, object{{"code", f.Code}, {"message", f.When}})
	}
	return list
}
