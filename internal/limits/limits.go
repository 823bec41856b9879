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
	// MessageBytes always fits. It is one block of a file besides the one that is
	// at work and the one that is read: more would make nothing faster.
	QueuedRequestBytes = 2 << 20
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
	// Looks bounds the requests of a connection that look at files for long (a
	// search, a part of a file, discovery) and those answers that have not been
	// queued: each may hold a thread for good, and an answer of megabytes.
	Looks = 4
	// OutgoingBytes is how much may wait to be written to a connection before
	// whoever produces it has to wait. A client that reads slowly sets the
	// pace of its processes by it.
	OutgoingBytes = 1 << 20
	// SpareBuffers is how many large buffers a connection keeps from one message
	// to the next, in each direction: one that is written and one that is made
	// meanwhile. They are dropped after SpareTimeout without a large message.
	SpareBuffers = 2
	// SpareBufferBytes bounds each of them: a file of 4 MiB in base64, or any
	// block of one.
	SpareBufferBytes = 8 << 20
	// FrameBytes is the largest frame that a message is sent in. The Codex client,
	// and the server, end the connection over one of more than 16 MiB, but take a
	// message of up to MessageBytes in fragments.
	FrameBytes = 8 << 20
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

// What goes from inside a sandbox to the loopback of the host. Airlock's own.
const (
	// RelayConnections bounds the connections of one process, each of which holds
	// two descriptors of the executor. The next one waits.
	RelayConnections = 256
	// RelayConnectionsTotal bounds those of all processes in the same way.
	RelayConnectionsTotal = 2048
	// RelayDialTimeout bounds how long the host takes to accept one. It does so at
	// once, unless its queue is full.
	RelayDialTimeout = 10 * time.Second
)

// What a policy of a sandbox may cost. All of it is worked out at each start.
const (
	// SandboxEntries bounds the entries of a policy with all roots that they stand
	// for. More are refused. Airlock's own.
	SandboxEntries = 4096
	// SandboxGlobs bounds its patterns, each of which is looked for at each start.
	// More are refused. Airlock's own.
	SandboxGlobs = 256
	// SandboxGlobBytes bounds a pattern. A longer one is refused. Airlock's own.
	SandboxGlobBytes = 4 << 10
	// SandboxGlobMatches bounds the files that all patterns below one directory
	// match, as each is a mount. More are an error: some would stay readable. The
	// dialect's value.
	SandboxGlobMatches = 8192
	// SandboxGlobEntries bounds what is looked at for that. More are an error.
	// Airlock's own.
	SandboxGlobEntries = 1_000_000
	// SandboxGlobDepth bounds how deep directories are looked into. What is below is
	// an error. Airlock's own.
	SandboxGlobDepth = 256
	// SandboxLinks bounds the symbolic links on the way to a path, as Linux does.
	SandboxLinks = 40
	// SandboxGitfileBytes bounds how much of a file .git is read, which has one
	// line. Airlock's own.
	SandboxGitfileBytes = 16 << 10
	// SandboxPorts bounds the ports of a managed network, each of which is a socket
	// inside. More are refused. Airlock's own.
	SandboxPorts = 64
	// SandboxResolveTime bounds how long what is on the host is looked at for a policy,
	// in large trees for patterns above all. What takes longer is refused.
	// SandboxLookBytes bounds the paths that are remembered meanwhile; others are
	// looked at again. Airlock's own.
	SandboxResolveTime = 10 * time.Second
	SandboxLookBytes   = 16 << 20
	// SandboxMounts bounds the mounts of one sandbox: making them takes time, and
	// they take memory of the kernel. More are refused. Airlock's own.
	SandboxMounts = 16_384
)

// What is told of a process's sandbox.
const (
	// DenialKinds bounds the kinds of things that were denied and that are told at the
	// exit; others are not. Airlock's own.
	DenialKinds = 64
	// DenialTextBytes bounds each text in there, some of which the process has
	// chosen. What is beyond is cut.
	DenialTextBytes = 1 << 10
	// DenialWait is how long the exit of a process that has failed in a sandbox is
	// held back for what others, which it has left behind, are just saying: it may
	// be why. The dialect's value.
	DenialWait = 20 * time.Millisecond
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

// What choosing, searching and reading files may take.
const (
	// Globs bounds the globs of one request, and GlobBytes each of them: all are
	// matched with each path.
	Globs     = 256
	GlobBytes = 1 << 10
	// SpeltGlobs bounds them once more when their braces have been spelt out, as
	// a few braces have a great many combinations, and SpeltGlobBytes all those
	// together: to match one path may take that much times its length.
	SpeltGlobs     = 1024
	SpeltGlobBytes = 32 << 10
	// SearchTime is how long a page of a search may take; a larger tree takes
	// several pages, so that no request is at work for long.
	SearchTime = 2 * time.Second
	// Searches bounds those that are at work at the same time, in all; others
	// wait for their turn. SearchWorkers is how many cores each uses.
	Searches      = 8
	SearchWorkers = 8
	// SearchMatches, SearchErrors and SearchBytes bound a page, the last by what
	// its texts and paths take. JSON may make six bytes of one, of which some
	// clients take 16 MiB.
	SearchMatches = 1000
	SearchErrors  = 100
	SearchBytes   = 1 << 20
	// SearchTextBytes bounds what is told of a line.
	SearchTextBytes = 1 << 10
	// SearchCursorBytes bounds what a client says about where to go on, which is
	// little more than a path.
	SearchCursorBytes = 128 << 10
	// SearchPatternBytes bounds a pattern, and SearchSteps an expression with
	// its repetitions written out: so many steps may a byte of text take.
	SearchPatternBytes = 4 << 10
	SearchSteps        = 10_000
	// SearchLineBytes bounds how much of a line is searched: that much is held in
	// memory by each worker. SearchLineSteps makes it less for a large
	// expression, as the search of a line can't be broken off.
	SearchLineBytes = 2 << 20
	SearchLineSteps = 1 << 27
	// SearchEntries bounds the entries of a directory, which are held to be
	// sorted. One that has more is not searched, and the answer says so.
	SearchEntries = 1 << 18
	// SearchAhead is how many files a search may be ahead of its page, and
	// SearchHeldBytes how much may have been found in them until no more are
	// begun. SearchDirsAhead is how many entries that are wanted are known in
	// advance, so that directories among them can be read.
	SearchAhead     = 256
	SearchHeldBytes = 4 << 20
	SearchDirsAhead = 8
	// IgnoreBytes bounds what is read of .gitignore and the like for a directory,
	// there and above it: each line costs time for each path, and memory. What is
	// beyond is not followed, and the answer says so.
	IgnoreBytes = 256 << 10
	// ReadRangeBytes bounds a part of a file in one answer, as that of a block.
	ReadRangeBytes = 1 << 20
)

// What clients may do with files. The values that are not the dialect's are told
// so.
const (
	// FileHandles bounds the files that a connection has open, HandleIDBytes their
	// ids and FileBlockBytes what is read or written at a time.
	FileHandles    = 128
	HandleIDBytes  = 32
	FileBlockBytes = 1 << 20
	// OpenFiles bounds those of all connections together, so that clients don't
	// take the descriptors that processes need. Airlock's own.
	OpenFiles = 8192
	// WholeFileBytes bounds a file that is read whole.
	WholeFileBytes = 512 << 20
	// LargeReadBytes bounds the answers with whole files that are larger than a
	// frame, of all connections together, as long as they are in memory: one with
	// the largest file fits. Others wait for LargeReadWait, and are then refused.
	// Airlock's own.
	LargeReadBytes = 768 << 20
	// WalkDepth, WalkDirectories, WalkEntries and WalkBytes bound a walk: how far
	// down it goes, how many directories it looks into, how many entries it looks
	// at, and the size of its result.
	WalkDepth       = 64
	WalkDirectories = 10_000
	WalkEntries     = 50_000
	WalkBytes       = 4 << 20
	// ListedEntries bounds a list of one directory: an entry takes four JSON values,
	// and the answer must stay within JSONValues. The dialect's value.
	ListedEntries = 50_000
	// PathBytes bounds a path where its symbolic links are not followed. Elsewhere
	// the system has the same bound.
	PathBytes = 4096
	// TreeDepth bounds how deep a tree that is copied or removed may be: for each
	// level a directory is open. Longer paths can hardly be named. Airlock's own.
	TreeDepth = 1024
)

// What the HTTP requests that clients have the executor make may take.
const (
	// HTTPExchanges bounds the requests of a connection that have no answer yet or
	// whose answer's body is still being streamed; one more is refused. Some hundred
	// streams of one client are nothing unusual. HTTPExchangesTotal is for all
	// connections together: each may take two sockets, and 100 KiB.
	HTTPExchanges      = 1024
	HTTPExchangesTotal = 4096
	// HTTPBodyBytes bounds the body of an answer that is not streamed, decoded; a
	// larger one is an error. It is as large as a message may be.
	HTTPBodyBytes = 64 << 20
	// HTTPBufferedBytes bounds all bodies in memory together, those that are sent
	// and those of answers that are not streamed, and the windows of decoders. What
	// would be more is refused.
	HTTPBufferedBytes = 512 << 20
	// HTTPRequestHeaderBytes bounds the headers of a request: a client can name a
	// large variable of the environment many times in a small message.
	HTTPRequestHeaderBytes = 1 << 20
	// HTTPAnswerHeaderBytes bounds the headers of an answer: they are passed on in a
	// message, in which they must stay within JSONValues.
	HTTPAnswerHeaderBytes = 256 << 10
	// HTTPRequestIDBytes bounds the id of a stream, which is in each of its parts.
	HTTPRequestIDBytes = 64 << 10
	// HTTPURLBytes bounds a URL, as the dialect's HTTP library does.
	HTTPURLBytes = 65_534
	// HTTPRedirects is how often an answer may send elsewhere. The dialect's value.
	HTTPRedirects = 10
	// HTTPDeltaBytes bounds one part of a streamed body. The dialect's value.
	HTTPDeltaBytes = 1 << 20
	// HTTPReadBytes is what each stream reads at once. HTTPLargeReads of all streams
	// may at the same time read up to HTTPDeltaBytes, where there is much to read.
	HTTPReadBytes  = 32 << 10
	HTTPLargeReads = 32
	// HTTPStreamWindow is how much an HTTP/2 origin may send ahead of a client that
	// does not read, for each stream.
	HTTPStreamWindow = 512 << 10
	// HTTPZstdWindow bounds how far zstd may refer back. What is made for HTTP keeps
	// to this (RFC 9659).
	HTTPZstdWindow = 8 << 20
	// HTTPIdleConns bounds the connections to origins that each client's requests
	// leave open for the next ones.
	HTTPIdleConns = 32
	// CertificateFileBytes bounds a file of certificates: the usual ones have a
	// quarter of a megabyte.
	CertificateFileBytes = 16 << 20
)

// What looking for the configuration, plugins and skills of agents may take.
const (
	// ConfigPaths bounds the parts of the configuration that one request asks for,
	// and ConfigPathKeys the keys of each.
	ConfigPaths    = 1024
	ConfigPathKeys = 64
	// ConfigFileBytes bounds one file of configuration, and ConfigBytes all that a
	// request reads, and what it answers.
	ConfigFileBytes = 1 << 20
	ConfigBytes     = 8 << 20
	// ConfigSigns bounds the signs = and [ in such a file, of which each key and
	// each table has one: the time that TOML takes grows with their square, and is
	// a fraction of a second here. Files have some hundred.
	ConfigSigns = 5000
	// ConfigDepth bounds how deep tables and arrays are nested in each other.
	ConfigDepth = 64
	// DiscoveryRoots bounds the folders of one request, of which DiscoveryAtOnce are
	// looked into at the same time. The dialect's values, as the next five are.
	DiscoveryRoots  = 128
	DiscoveryAtOnce = 8
	// DiscoveryDepth, DiscoveryDirectories and DiscoveryEntries bound the walk
	// through each.
	DiscoveryDepth       = 6
	DiscoveryDirectories = 2000
	DiscoveryEntries     = 20_000
	// DiscoveryFileBytes bounds a file that is told, DiscoveryRootBytes all those of
	// a folder.
	DiscoveryFileBytes = 1 << 20
	DiscoveryRootBytes = 16 << 20
	// DiscoveryAnswerBytes bounds one answer, as it is encoded, so that it stays
	// within MessageBytes. What has no room is left out, with a warning.
	DiscoveryAnswerBytes = 48 << 20
	// DiscoveryRequests bounds the requests of all connections that make such
	// answers, or read configuration, at the same time; others wait, see
	// TurnPatience.
	DiscoveryRequests = 4
	// InstalledPlugins bounds the plugins of the Codex home that are told, and
	// InstalledNames the names in a folder that are looked at for them.
	InstalledPlugins = 256
	InstalledNames   = 1024
	// SkillNameRunes and SkillTextRunes bound what skills say in a few words.
	// The dialect's values.
	SkillNameRunes = 64
	SkillTextRunes = 1024
	// YAMLDepth bounds how deep the YAML of skills is nested.
	YAMLDepth = 32
)

// What the watches of files may hold.
const (
	// Watches bounds those of a connection, each of which takes two goroutines.
	Watches = 64
	// WatchIDBytes bounds the id of one, which is in each of its notifications.
	WatchIDBytes = 32
	// DirectoriesPerWatch bounds the directories that one watches; a larger tree is
	// refused, and a watch whose tree becomes larger ends.
	DirectoriesPerWatch = 65_536
	// WatchedDirectories bounds those of all together, each of which takes about
	// 1.5 KiB, of ours and of the system's.
	WatchedDirectories = 131_072
	// WatchEvents bounds what has happened in the directories of a watch and has
	// not been looked at: then its tree is looked at anew. Linux queues as many.
	WatchEvents = 16_384
	// WatchPendingBytes bounds the changes that wait for a client that is slow: at
	// the bound they are dropped, and it is told to rescan.
	WatchPendingBytes = 2 << 20
	// WatchPendingTotalBytes bounds the same for all watches together, as clients
	// can have many. WatchPendingFree of each do not count for it.
	WatchPendingTotalBytes = 64 << 20
	WatchPendingFree       = 64 << 10
	// WatchChanges bounds the changes in one notification, whose paths may have
	// 12 KiB each: some clients take 16 MiB.
	WatchChanges = 1000
	// MissingPaths bounds the paths of a watch of what is missing. The dialect's
	// value.
	MissingPaths = 64
	// MissingDirectories bounds the directories above them that are watched; for
	// more, the answer is that nothing is watched.
	MissingDirectories = 1024
)

// What a client holds of what its executor sends, beside the output of processes.
const (
	// BlockBytes is how much of a file a client has in one message: small enough for
	// what one end does with a block to fit its cache, and the next block to be on
	// its way meanwhile. BlocksAhead is how many it asks for before they are needed,
	// or sends before they are confirmed.
	BlockBytes  = 256 << 10
	BlocksAhead = 16
	// WholeFrameBytes is up to where a client has a file travel as a whole, in
	// base64: a frame of the dialect may have 16 MiB.
	WholeFrameBytes = 8 << 20
	// HTTPRequestBytes bounds the body of a request, for the same reason.
	HTTPRequestBytes = 11 << 20
	// HTTPWholeBytes bounds the body of an answer that is returned whole; a larger
	// one is an error.
	HTTPWholeBytes = 64 << 20
	// HTTPUnreadBytes bounds what waits to be read of a body, and
	// HTTPUnreadTotalBytes what does of all. At the bound the connection is not read
	// from, and so all else of it is delayed.
	HTTPUnreadBytes      = 16 << 20
	HTTPUnreadTotalBytes = 64 << 20
	// PendingChanges bounds the changes that a watcher has not been asked for. More
	// are dropped, and it tells to rescan.
	PendingChanges = 4096
	// WalkStats is how many entries of a directory that is too large for a walk a
	// client asks about at the same time.
	WalkStats = 32
)

// Times.
const (
	// HTTPUnreadTime is how long nothing may be taken of a body that delays all else
	// of a client's connection, and HTTPHoldTime how long one part of it may do so,
	// although something is taken: not so long that the connection is taken for
	// dead. Then it is given up.
	HTTPUnreadTime = 5 * time.Second
	HTTPHoldTime   = 30 * time.Second
	// HandleCloseTimeout is how long a client waits for the answer to the closing of
	// a file or a watch, on which nothing depends.
	HandleCloseTimeout = 5 * time.Second
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
	// SpareTimeout is how long large buffers are kept that are not used: a client
	// that reads one file after the other is back by then.
	SpareTimeout = 5 * time.Second
	// WatchWindow is how long changes of files are gathered before they are told:
	// what a program does at one go is then one notification.
	WatchWindow = 50 * time.Millisecond
	// TurnPatience is how long one waits for its turn among the searches, or among
	// discoveries, until one of those is taken to be held up for good.
	TurnPatience = 10 * time.Second
	// MissingDelay is the same for a path that was missing. The dialect's value.
	MissingDelay = 40 * time.Millisecond
	// LargeReadWait is how long the answer with a large file waits for room. Its
	// connection does nothing else meanwhile if it does one thing at a time.
	LargeReadWait = 30 * time.Second
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
	// HTTPIdleTimeout is how long a connection to an origin is kept for the next
	// request to it.
	HTTPIdleTimeout = 60 * time.Second
	// HTTPTLSTimeout bounds how long an origin may take to agree on TLS. Behind a
	// proxy that goes on when the request has been given up.
	HTTPTLSTimeout = 30 * time.Second
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
