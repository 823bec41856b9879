// Package client talks to an executor: it opens a session, starts processes,
// and hands out what they do in order, also when the connection is lost on the
// way. It works with the executor's files, and makes HTTP requests from its host.
//
// [Dial] connects to an executor elsewhere, [Connect] to one inside the program:
// it takes a *server.Server. See the examples.
//
// # Connections
//
// A lost connection is replaced, and the session goes on. What is asked for
// meanwhile waits. A call whose answer was lost is repeated if that is harmless:
// writes are recognised by the executor, starts by their id. [Process.Signal] is
// not repeated; [Files] and [HTTP] say what is not of theirs.
//
// # Order
//
// The events of a process are handed out in the order of their numbers, each
// once, over any number of connections. Where the executor has dropped some,
// that is said in their place.
//
// # Pace
//
// Who takes the events of a process sets its pace: about 1 MiB of output waits
// here, some more after a connection was lost, and then the process is held
// back. With an executor that can't hold back one process alone (its features
// lack [protocol.FeatureProcessWindow]), the whole connection is, other
// processes and answers included.
//
// Files are read and written at the pace of whoever does it. The body of an HTTP
// answer can't be held back alone: see [HTTP].
//
// # Concurrency
//
// All methods may be called by several goroutines, except where they say so.
// What waits ends with its context, and when the executor is closed; then
// nothing of it is left.
package client
