package protocol

// What stands here works on a connection to the control socket of an executor
// only, which is for whoever runs it.

// SessionListResult answers airlock/sessionList, whose parameters are empty.
type SessionListResult struct {
	// Executor tells which executor this is.
	Executor ExecutorInfo `json:"executor"`
	// Sessions are in the order of their making.
	Sessions []SessionInfo `json:"sessions"`
}

// ExecutorInfo describes an executor to whoever runs it.
type ExecutorInfo struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	// Listen is where clients connect: URLs, or "stdio".
	Listen []string `json:"listen"`
	// StartedAtMs is in milliseconds since 1970.
	StartedAtMs int64 `json:"startedAtMs"`
}

// SessionInfo describes a session.
type SessionInfo struct {
	// SessionID gives access to the session: keep it secret.
	SessionID string `json:"sessionId"`
	// ClientName is what the client calls itself, 100 bytes at most.
	ClientName string `json:"clientName"`
	// Attached tells whether a client is connected.
	Attached bool `json:"attached"`
	// CreatedAtMs and ChangedAtMs, when a client was attached or detached last,
	// are in milliseconds since 1970.
	CreatedAtMs int64 `json:"createdAtMs"`
	ChangedAtMs int64 `json:"changedAtMs"`
	// Processes counts those that are not forgotten, Running those of them that
	// have not exited.
	Processes int `json:"processes"`
	Running   int `json:"running"`
}

// ObserveParams reads the output of any process without any effect on its
// client; see [ReadParams]. How much a connection gets in a second is bounded:
// an observer that falls behind misses output, and is told so.
type ObserveParams struct {
	SessionID string  `json:"sessionId"`
	ProcessID string  `json:"processId"`
	AfterSeq  *uint64 `json:"afterSeq"`
	MaxBytes  *uint64 `json:"maxBytes"`
	WaitMs    *uint64 `json:"waitMs"`
}

// SessionTerminateParams ends a session, its client's connection included, or one
// process of it; see [TerminateTreeParams] for how.
type SessionTerminateParams struct {
	SessionID string `json:"sessionId"`
	// ProcessID, if given, names the process. The session goes on.
	ProcessID *string `json:"processId,omitzero"`
	GraceMs   uint64  `json:"graceMs,omitzero"`
}

// SessionTerminateResult answers airlock/sessionTerminate.
type SessionTerminateResult = TerminateTreeResult
