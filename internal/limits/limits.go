// Package limits holds every bound on what a peer or a child can make the
// executor hold or do, each with its reason. A bound that an operator may need
// to move is a default here and a flag in cmd/airlock.
package limits

import "time"

// What one message may contain. The first three are the dialect's own, so that
// both sides agree on what can be sent.
const (
	// MessageBytes bounds one incoming message. The dialect's value.
	MessageBytes = 64 << 20
	// JSONValues bounds the values in one message (every object, array,
	// string, number, boolean and null counts; member names do not). The
	// dialect's value: it bounds what a small message can unfold to.
	JSONValues = 262_144
	// JSONDepth bounds the nesting of containers. The dialect's value.
	JSONDepth = 127
)

// What one connection may hold.
const (
	// QueuedRequests bounds the requests in a lane that have been read but not
	// begun. At the bound reading stops until one is begun, which in the end
	// slows the sender.
	QueuedRequests = 1024
	// QueuedRequestBytes bounds their size in the same way; one message of
	// MessageBytes always fits.
	QueuedRequestBytes = 8 << 20
	// ParkedRequests bounds the requests of a connection that wait without
	// holding up others (long polls, writes to a full standard input). At the
	// bound the next one waits in its lane.
	ParkedRequests = 4096
	// ParkedRequestBytes bounds the size of them all: what is to be written to
	// a process that does not read must not keep its termination from coming
	// through.
	ParkedRequestBytes = 64 << 20
	// ParkedAnswers is how many of those that have waited make their answers
	// at the same time, each of which can be as large as what is retained.
	ParkedAnswers = 4
	// OutgoingBytes is how much may wait to be written to a connection before
	// whoever produces it has to wait. A client that reads slowly sets the
	// pace of its processes by it.
	OutgoingBytes = 1 << 20
	// CallsInFlight bounds the executor's own requests to a client, as the
	// dialect does.
	CallsInFlight = 256
	// LateCallIDs is how many calls that timed out are remembered, so that
	// their late answers are told from answers to nothing.
	LateCallIDs = 4096
	// ConcurrentRequests is the most that --concurrent-requests has effect for.
	ConcurrentRequests = 1024
)

// What the executor holds in all.
const (
	// Connections bounds the connections of a listener; more are answered 503.
	Connections = 8192
	// ControlConnections bounds those of a control socket; one more is told so
	// and closed. Its users are people, and a few programs of theirs.
	ControlConnections = 64
	// ControlNames is how many control sockets there may be of executors that
	// have the same process id: containers that share a folder, or several
	// executors in one program.
	ControlNames = 64
	// Sessions bounds attached and detached sessions together.
	Sessions = 4096
	// ProcessesPerSession bounds the processes of a session that are not yet
	// forgotten, each of which holds up to RetainedBytes.
	ProcessesPerSession = 4096
	// ClientNameBytes is how much of what a client calls itself is kept.
	ClientNameBytes = 100
	// HeaderBytes bounds the header of an HTTP request.
	HeaderBytes = 64 << 10
)

// What whoever runs an executor can make it do: so little that its clients do
// not notice.
const (
	// ObservedBytes bounds the output in one answer to an observation.
	ObservedBytes = 512 << 10
	// ObservedRate bounds the output of running processes in the answers on one
	// connection, in bytes a second.
	ObservedRate = 8 << 20
	// OutrunFactor is how much slower is read by an observer that misses output
	// all the same: it can't keep up, and gets samples.
	OutrunFactor = 8
	// TerminatedPIDs bounds each list of process ids in the answer to a
	// termination. There may be as many as the system has.
	TerminatedPIDs = 65_536
)

// What one process may hold.
const (
	// RetainedBytes is how much of a process's newest output is kept in memory.
	RetainedBytes = 1 << 20
	// RetainedChunks bounds the same by number: a read result takes four JSON
	// values for each chunk, and must stay within JSONValues.
	RetainedChunks = 50_000
	// ReadBytes bounds the output in one answer to a read, and ReadMessageBytes
	// the part of the answer that holds it: some clients end the connection
	// over a frame of more than 16 MiB.
	ReadBytes        = 11 << 20
	ReadMessageBytes = 15 << 20
	// CatchUpBytes bounds the output in the answer to the first read of a
	// client that has come back. The Codex client takes notifications in while
	// it is still busy with the answer: the longer it is, the likelier they are
	// too many for it.
	CatchUpBytes = 1 << 20
	// AheadEvents and AheadBytes bound what a client that has come back is told
	// of a process before it has read what it has missed of it. The Codex
	// client can keep 256 events of 1 MiB.
	AheadEvents = 128
	AheadBytes  = 512 << 10
	// TerminationWaiters bounds the requests to terminate a process that wait for
	// the same outcome, which may take as long as the grace. One that kills at
	// once is never refused.
	TerminationWaiters = 16
	// QueuedInputBytes bounds what is to be written to all processes together
	// and has not been: starts and writes beyond it are refused. It is so much
	// that only who does not let his processes read gets there.
	QueuedInputBytes = 512 << 20
	// SpillBytes is how much output of a process is kept in a file when it has
	// left memory; the oldest is dropped.
	SpillBytes = 256 << 20
	// MinSpillBytes is the least that such a file can do with.
	MinSpillBytes = 1 << 20
	// SpillTotalBytes bounds the files of all processes together, so that
	// clients can't fill the disk.
	SpillTotalBytes = 4 << 30
	// ChunkBytes bounds one chunk of output, so that messages stay small.
	ChunkBytes = 64 << 10
	// DrainBytes bounds what is read from one stream of a process that has
	// exited before its exit is announced: a background child may never stop
	// writing.
	DrainBytes = 1 << 20
	// QueuedWrites bounds the writes that wait for a process to read its
	// standard input; the next one waits for room.
	QueuedWrites = 128
	// QueuedWriteBytes bounds their size in the same way; one write always fits.
	QueuedWriteBytes = 8 << 20
	// RememberedWrites is how many accepted write ids are kept to suppress
	// repeats. The dialect's value.
	RememberedWrites = 4096
	// WriteIDBytes bounds each of them.
	WriteIDBytes = 1 << 10
	// ProcessIDBytes bounds the id of a process, which is in each of its events.
	ProcessIDBytes = 64 << 10
	// ListedArgvBytes is how much of the argv of a process lists tell.
	ListedArgvBytes = 1 << 10
	// ListBytes bounds one answer to a list, by what the names in it take. JSON
	// may make six bytes of one, of which some clients take 16 MiB.
	ListBytes = 2 << 20
	// CallbackProcessIDBytes bounds the id of a process whose network requests
	// the client decides. The dialect's value.
	CallbackProcessIDBytes = 256
)

// Times.
const (
	// SessionTTL is how long a detached session is kept. Clients try to come
	// back for 45 s.
	SessionTTL = 80 * time.Second
	// ProcessRetention is how long a closed process can still be read.
	ProcessRetention = 80 * time.Second
	// PingInterval is the time between pings to a WebSocket peer.
	PingInterval = 30 * time.Second
	// PingTimeout is how long a peer may stay silent, pings included.
	PingTimeout = 90 * time.Second
	// ProbeTimeout is how long a peer may take to answer when another one asks
	// for its session. Clients that come back try for longer than that.
	ProbeTimeout = 3 * time.Second
	// StallTimeout is how long a client may take nothing of what is sent to it
	// and still hold back its processes.
	StallTimeout = 2 * time.Second
	// StallDrop is how long it may take nothing until it is disconnected.
	StallDrop = 60 * time.Second
	// AheadTimeout is how long AheadEvents and AheadBytes hold for a client that
	// does not read at all.
	AheadTimeout = 10 * time.Second
	// ControlLockTimeout bounds how long the folder of control sockets may be in
	// use by another executor that makes or removes one, which takes no time.
	ControlLockTimeout = 2 * time.Second
	// ControlGoodbyeTimeout bounds how long the end of a connection to a control
	// socket waits for the peer to take the reason.
	ControlGoodbyeTimeout = 100 * time.Millisecond
	// ControlProbeTimeout bounds how long it is tried to connect to a control
	// socket that may have been left behind.
	ControlProbeTimeout = time.Second
	// HandshakeTimeout bounds the HTTP request that opens a WebSocket.
	HandshakeTimeout = 10 * time.Second
	// PauseTimeout is how long nothing may be read from a connection because its
	// requests can't be taken: then it is closed, so that its session can be
	// used by another one.
	PauseTimeout = 90 * time.Second
	// TerminateGrace bounds what a client may give a process to end by itself.
	TerminateGrace = time.Hour
	// ProcessTimeout bounds what a client may ask a process to be ended after:
	// a year is as good as never, and a mistake is told.
	ProcessTimeout = 366 * 24 * time.Hour
	// ConnectTimeout bounds how long a client waits for a connection, as it
	// does for the answer to initialize.
	ConnectTimeout = 10 * time.Second
	// CloseTimeout bounds how long the end of a server waits for processes that
	// have been killed: one in an uninterruptible system call does not die.
	CloseTimeout = 5 * time.Second
	// DrainTimeout bounds how long answers are flushed after standard input
	// has ended.
	DrainTimeout = 2 * time.Second
)
