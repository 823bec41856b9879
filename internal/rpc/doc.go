// Package rpc runs one JSON-RPC connection of the exec-server dialect over a
// transport: JSON-RPC 2.0 without the member "jsonrpc", without batches, with
// bounds on what a message may hold.
//
// # Order
//
// Until the handshake is done, messages are handled one after the other. After
// it, requests wait in lanes and are begun in order of arrival: with a
// concurrency of one there is a single lane and each request is begun when the
// one before it has been answered or only waits; with more, two lanes with that
// many places each. Answers to our own calls never wait in a lane.
//
// # Back-pressure
//
// Messages to be sent wait in a queue bounded in bytes; whoever adds to a full
// one waits. When the lanes are full reading stops. Writing never waits for
// reading, so that a client that sends any number of requests and reads the
// answers always gets all of them.
//
// # End
//
// [Conn.Serve] returns when the connection is over and every goroutine that the
// connection started has ended.
package rpc
