package protocol

import "github.com/go-json-experiment/json/jsontext"

// StartParams asks for a new process.
type StartParams struct {
	// ProcessID is chosen by the client, unique in its session until the
	// process is forgotten. It may be empty.
	ProcessID string `json:"processId"`
	// Argv is the program and its arguments.
	Argv []string `json:"argv"`
	// CWD is the working directory of the program.
	CWD PathURI `json:"cwd"`
	// EnvPolicy, when given, says what the environment starts from; Env is
	// then laid over it. Without it the environment is exactly Env.
	EnvPolicy *EnvPolicy `json:"envPolicy"`
	// Env maps names to values.
	Env map[string]string `json:"env"`
	// TTY asks for a pseudo-terminal in place of three pipes.
	TTY bool `json:"tty"`
	// PipeStdin asks for a standard input that process/write can feed; without
	// it (and without TTY) standard input is empty.
	PipeStdin bool `json:"pipeStdin,omitzero"`
	// Arg0 replaces Argv[0] as the name that the program sees.
	Arg0 *string `json:"arg0"`
	// Metadata labels the process for the agent's own bookkeeping.
	Metadata *Metadata `json:"metadata,omitzero"`
	// ShellSnapshot asks to replay a captured shell state.
	ShellSnapshot *ShellSnapshot `json:"shellSnapshot,omitzero"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
	// EnforceManagedNetwork asks that no traffic leaves but by the proxy.
	EnforceManagedNetwork bool `json:"enforceManagedNetwork,omitzero"`
	// ManagedNetwork describes a proxy that runs already.
	ManagedNetwork *ManagedNetwork `json:"managedNetwork,omitzero"`
	// NetworkProxy asks the executor to run a proxy for this process.
	NetworkProxy *NetworkProxy `json:"networkProxy,omitzero"`
	// Airlock asks for what Airlock adds; other executors ignore it.
	Airlock *StartExtra `json:"airlock,omitzero"`
}

// EnvPolicy says what a child's environment starts from. The steps are applied
// in the order of the fields.
type EnvPolicy struct {
	// Inherit selects what is taken from the executor's own environment.
	Inherit EnvInherit `json:"inherit"`
	// IgnoreDefaultExcludes keeps names that look like credentials
	// (*KEY*, *SECRET*, *TOKEN*), which are dropped otherwise.
	IgnoreDefaultExcludes bool `json:"ignoreDefaultExcludes"`
	// Exclude drops names that match one of the patterns.
	Exclude []string `json:"exclude"`
	// Set inserts variables.
	Set map[string]string `json:"set"`
	// IncludeOnly, if not empty, keeps only names that match a pattern.
	IncludeOnly []string `json:"includeOnly"`
}

// EnvInherit names a start set for [EnvPolicy].
type EnvInherit string

// Start sets.
const (
	InheritCore EnvInherit = "core" // what programs commonly need
	InheritAll  EnvInherit = "all"
	InheritNone EnvInherit = "none"
)

// Metadata labels a process. The labels reach the child's environment as
// CODEX_THREAD_ID and CODEX_TOOL_CALL_ID; they authorise nothing.
type Metadata struct {
	ThreadID   *UUID   `json:"threadId,omitzero"`
	ToolCallID *string `json:"toolCallId,omitzero"`
}

// ShellSnapshot names a shell state to replay before the command.
type ShellSnapshot struct {
	ScopeID string `json:"scopeId"`
	Shell   Shell  `json:"shell"`
}

// ManagedNetwork describes a proxy that is reachable on loopback.
type ManagedNetwork struct {
	TransparentTCP                 bool     `json:"transparentTcp,omitzero"`
	LoopbackPorts                  []uint16 `json:"loopbackPorts,omitzero"`
	AllowLocalBinding              bool     `json:"allowLocalBinding,omitzero"`
	AllowUnixSockets               []string `json:"allowUnixSockets,omitzero"`
	DangerouslyAllowAllUnixSockets bool     `json:"dangerouslyAllowAllUnixSockets,omitzero"`
}

// NetworkProxy asks for a policy proxy of the process's own.
type NetworkProxy struct {
	// Proxy is the proxy's configuration.
	Proxy jsontext.Value `json:"proxy" wire:"struct=RemoteNetworkProxyConfig"`
	// PolicyDecisionTimeoutMs, when given, sends undecided requests to the
	// client, which has that many milliseconds to answer.
	PolicyDecisionTimeoutMs *uint64 `json:"policyDecisionTimeoutMs,omitzero"`
}

// StartResult answers process/start, after the program has been executed.
type StartResult struct {
	ProcessID string `json:"processId"`
	// SandboxType names the confinement in force; nil means unknown (older
	// executors do not tell).
	SandboxType *SandboxType `json:"sandboxType,omitzero"`
	// Airlock is set if the start has asked for something that it answers.
	Airlock *StartResultExtra `json:"airlock,omitzero"`
}

// SandboxType names a confinement.
type SandboxType string

// Confinements.
const (
	SandboxNone              SandboxType = "none"
	SandboxSeatbelt          SandboxType = "macosSeatbelt"
	SandboxLinuxSeccomp      SandboxType = "linuxSeccomp"
	SandboxWindowsRestricted SandboxType = "windowsRestrictedToken"
	SandboxWindowsMXC        SandboxType = "windowsMxc"
)

// ReadParams asks for retained output.
type ReadParams struct {
	ProcessID string `json:"processId"`
	// AfterSeq is the last sequence number seen; 0 (or nil) asks for all.
	AfterSeq *uint64 `json:"afterSeq"`
	// MaxBytes bounds the output bytes returned; at least one chunk is
	// returned if there is one. Nil means no bound.
	MaxBytes *uint64 `json:"maxBytes"`
	// WaitMs is how long, in milliseconds, to wait for news if there is none.
	WaitMs *uint64 `json:"waitMs"`
}

// ReadResult answers process/read.
type ReadResult struct {
	Chunks []Chunk `json:"chunks"`
	// NextSeq is one past what this result covers: a client goes on with
	// AfterSeq = NextSeq - 1.
	NextSeq  uint64 `json:"nextSeq"`
	Exited   bool   `json:"exited"`
	ExitCode *int32 `json:"exitCode"`
	Closed   bool   `json:"closed"`
	// Failure is for clients' own use; an executor always sends null.
	Failure *string `json:"failure"`
	// SandboxDenied guesses whether the sandbox has made the program fail.
	SandboxDenied bool `json:"sandboxDenied"`
	// Airlock is set if some of what was asked for has been dropped, if it was
	// Airlock that has ended the process, or to tell of its sandbox.
	Airlock *ReadExtra `json:"airlock,omitzero"`
}

// Chunk is a piece of output.
type Chunk struct {
	Seq    uint64 `json:"seq"`
	Stream Stream `json:"stream"`
	Chunk  Bytes  `json:"chunk"`
}

// Stream names an output stream of a process.
type Stream string

// Output streams. A process with a terminal has only [StreamPTY].
const (
	StreamStdout Stream = "stdout"
	StreamStderr Stream = "stderr"
	StreamPTY    Stream = "pty"
)

// WriteParams feeds the standard input of a process.
type WriteParams struct {
	ProcessID string `json:"processId"`
	Chunk     Bytes  `json:"chunk"`
	// WriteID makes a repeated write harmless: bytes of an id that has been
	// accepted are not written again.
	WriteID string `json:"writeId"`
}

// WriteResult answers process/write.
type WriteResult struct {
	Status WriteStatus `json:"status"`
}

// WriteStatus is the outcome of a write.
type WriteStatus string

// Outcomes of a write.
const (
	WriteAccepted       WriteStatus = "accepted" // queued, in order; not yet delivered
	WriteUnknownProcess WriteStatus = "unknownProcess"
	WriteStdinClosed    WriteStatus = "stdinClosed"
	WriteStarting       WriteStatus = "starting"
)

// SignalParams sends a signal to the process group.
type SignalParams struct {
	ProcessID string `json:"processId"`
	Signal    Signal `json:"signal"`
}

// Signal names a signal.
type Signal string

// SignalInterrupt is what Ctrl-C sends.
const SignalInterrupt Signal = "interrupt"

// SignalResult answers process/signal.
type SignalResult struct{}

// TerminateParams ends a process at once.
type TerminateParams struct {
	ProcessID string `json:"processId"`
}

// TerminateResult answers process/terminate.
type TerminateResult struct {
	// Running tells whether the process was still running.
	Running bool `json:"running"`
}

// OutputNotification tells of output.
type OutputNotification struct {
	ProcessID string      `json:"processId"`
	Seq       uint64      `json:"seq"`
	Stream    Stream      `json:"stream"`
	Chunk     Bytes       `json:"chunk"`
	Airlock   *EventExtra `json:"airlock,omitzero"`
}

// ExitedNotification tells that the program has ended.
type ExitedNotification struct {
	ProcessID string `json:"processId"`
	Seq       uint64 `json:"seq"`
	// ExitCode is 0 to 255, 128 + the signal that ended the program, or -1 if
	// it is not known.
	ExitCode      int32       `json:"exitCode"`
	SandboxDenied bool        `json:"sandboxDenied"`
	Airlock       *EventExtra `json:"airlock,omitzero"`
}

// ClosedNotification tells that no more output will come.
type ClosedNotification struct {
	ProcessID string      `json:"processId"`
	Seq       uint64      `json:"seq"`
	Airlock   *EventExtra `json:"airlock,omitzero"`
}
