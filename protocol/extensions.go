package protocol

// InitializeExtra is Airlock's addition to [InitializeParams].
type InitializeExtra struct {
	// Takeover resumes the session even while another connection is attached
	// to it, which is closed. Feature [FeatureTakeover].
	Takeover bool `json:"takeover,omitzero"`
	// Window, if not 0, is how many bytes of output of each process are sent to
	// this connection before it has granted more: see
	// [ProcessWindowNotification]. Feature [FeatureProcessWindow].
	Window uint64 `json:"window,omitzero"`
}

// StartExtra is Airlock's addition to [StartParams]. An executor that has
// switched off the feature of a member that is set refuses the start.
type StartExtra struct {
	// TerminalSize is the size of the terminal at the start, which is 24 rows of
	// 80 columns otherwise. Feature [FeatureResize].
	TerminalSize *TerminalSize `json:"terminalSize,omitzero"`
	// Stdin, if given, is all of the standard input: the program reads it and
	// then the end. It takes the place of PipeStdin, and a process with a
	// terminal can't have it. Feature [FeatureStdin].
	Stdin *Bytes `json:"stdin,omitzero"`
	// TimeoutMs kills the process, and what it has started, when it has not
	// closed so many milliseconds after its start. Feature [FeatureTimeouts].
	TimeoutMs *uint64 `json:"timeoutMs,omitzero"`
	// IdleTimeoutMs does the same when the process has neither said anything
	// nor been written to for so many milliseconds. While the client holds back
	// its output that does not count. Feature [FeatureTimeouts].
	IdleTimeoutMs *uint64 `json:"idleTimeoutMs,omitzero"`
	// Limits bounds what the process may use. Feature [FeatureLimits].
	Limits *ProcessLimits `json:"limits,omitzero"`
}

// TerminalSize is a size in character cells, each 1 to 65535.
type TerminalSize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// ProcessLimits bounds what a process may use. A limit that can't be enforced
// where the executor runs is refused; unlike elsewhere, a member that is not
// known is, too.
type ProcessLimits struct {
	// MemoryBytes bounds the memory of the process and all that it starts
	// together. Who goes beyond it is killed.
	MemoryBytes *uint64 `json:"memoryBytes,omitzero"`
	// CPUSeconds bounds the processor time of each program. One that goes
	// beyond it gets SIGXCPU, and a second later SIGKILL.
	CPUSeconds *uint64 `json:"cpuSeconds,omitzero"`
	// Processes bounds how many processes and threads there may be of the
	// process and all that it starts.
	Processes *uint64 `json:"processes,omitzero"`
	// OpenFiles bounds the descriptors of each program.
	OpenFiles *uint64 `json:"openFiles,omitzero"`
	// FileBytes bounds the size of each file that is written. Who goes beyond
	// it gets SIGXFSZ.
	FileBytes *uint64 `json:"fileBytes,omitzero"`
}

// StartResultExtra is Airlock's addition to [StartResult].
type StartResultExtra struct {
	// Limits names the mechanism that enforces each limit; it is set if limits were
	// asked for.
	Limits *LimitMechanisms `json:"limits,omitzero"`
	// SandboxTier says what confines the process. It is set if a sandbox was asked
	// for, and if besides the start has asked for anything of Airlock or the tier is
	// [TierLandlock], which is weaker than [TierNamespaces]. Feature
	// [FeatureSandboxTier].
	SandboxTier SandboxTier `json:"sandboxTier,omitzero"`
}

// SandboxTier names what confines a process.
type SandboxTier string

// Tiers.
const (
	// TierNone: the policy restricts nothing.
	TierNone SandboxTier = "none"
	// TierSeccomp: the policy restricts no files; a filter of system calls is all
	// that it takes.
	TierSeccomp SandboxTier = "seccomp"
	// TierNamespaces: the process sees a root of its own, and its own processes.
	TierNamespaces SandboxTier = "namespaces"
	// TierLandlock: the host refuses namespaces; Landlock guards its files.
	TierLandlock SandboxTier = "landlock"
)

// Denial is something that a process has tried and that its sandbox did not let
// it do. Not all is seen: what has no entry may have been denied, too.
type Denial struct {
	// What is the system call, as "connect".
	What string `json:"what"`
	// Path is that of a socket or file, if it is known.
	Path string `json:"path,omitzero"`
	// Address is the address family, or the address.
	Address string `json:"address,omitzero"`
	// Count is how often.
	Count uint64 `json:"count"`
}

// SetupError tells that a sandbox could not be set up. Nothing of the process has
// been executed; it has exited with the code 1 and has no output.
type SetupError struct {
	// Stage is the step that has failed. More may be added.
	Stage string `json:"stage"`
	// Message says what was wrong, with what, and what to do.
	Message string `json:"message"`
}

// LimitMechanisms says how limits are enforced. A member is set if that limit
// was asked for.
type LimitMechanisms struct {
	MemoryBytes LimitMechanism `json:"memoryBytes,omitzero"`
	CPUSeconds  LimitMechanism `json:"cpuSeconds,omitzero"`
	Processes   LimitMechanism `json:"processes,omitzero"`
	OpenFiles   LimitMechanism `json:"openFiles,omitzero"`
	FileBytes   LimitMechanism `json:"fileBytes,omitzero"`
}

// LimitMechanism names what enforces a limit.
type LimitMechanism string

// Mechanisms.
const (
	LimitCgroup2 LimitMechanism = "cgroup2" // a control group of version 2
	LimitCgroup1 LimitMechanism = "cgroup1" // a control group of version 1
	LimitRlimit  LimitMechanism = "rlimit"  // setrlimit, of each program
)

// EndReason says what has ended a process, or cut its output short, when it was
// Airlock. More may be added.
type EndReason string

// Reasons.
const (
	ReasonDeadline   EndReason = "deadline"   // StartExtra.TimeoutMs
	ReasonIdle       EndReason = "idle"       // StartExtra.IdleTimeoutMs
	ReasonMemory     EndReason = "memory"     // ProcessLimits.MemoryBytes
	ReasonCPU        EndReason = "cpu"        // ProcessLimits.CPUSeconds
	ReasonFileSize   EndReason = "fileSize"   // ProcessLimits.FileBytes
	ReasonTerminated EndReason = "terminated" // airlock/processTerminate
	ReasonOperator   EndReason = "operator"   // whoever runs the executor
)

// ProcessWindowNotification tells an executor that the client has taken so many
// bytes of a process's output, and that as many more may be sent. A chunk is
// sent whole while any of the window is left. What can't be sent holds back its
// own process only.
type ProcessWindowNotification struct {
	ProcessID string `json:"processId"`
	Bytes     uint64 `json:"bytes"`
}

// EventExtra is Airlock's addition to the notifications of a process.
type EventExtra struct {
	// FirstSeq, set if events right before this one have been dropped, is the
	// oldest sequence number that can still be read.
	FirstSeq uint64 `json:"firstSeq,omitzero"`
	// DroppedBytes, set with FirstSeq, counts the bytes of each stream before
	// FirstSeq. All of them are gone, received or not.
	DroppedBytes map[Stream]uint64 `json:"droppedBytes,omitzero"`
	// Reason says what has ended the process, if it was Airlock. It comes with the
	// exit or, if that had come before, with the close: then it is about what the
	// process had left behind.
	Reason EndReason `json:"reason,omitzero"`
	// Denials, which come with the exit if the start has set [StartParams.Airlock],
	// are what the sandbox is known to have denied: the first 64 of different kinds.
	// Feature [FeatureSandboxDenials].
	Denials []Denial `json:"denials,omitzero"`
	// SetupError, which comes with the exit, tells that the sandbox could not be set
	// up. Feature [FeatureSandboxSetupError].
	SetupError *SetupError `json:"setupError,omitzero"`
}

// ReadExtra is Airlock's addition to [ReadResult].
type ReadExtra struct {
	// FirstSeq, set if some of what was asked for has been dropped, is the
	// oldest sequence number that can still be read.
	FirstSeq uint64 `json:"firstSeq,omitzero"`
	// DroppedBytes, set with FirstSeq, counts the bytes of each stream before
	// FirstSeq. All of them are gone, received or not.
	DroppedBytes map[Stream]uint64 `json:"droppedBytes,omitzero"`
	// Reason says what has ended the process, if it was Airlock and the result
	// tells of the exit.
	Reason EndReason `json:"reason,omitzero"`
	// CloseReason says the same of what the process had left behind when it
	// exited, if the result tells of the close.
	CloseReason EndReason `json:"closeReason,omitzero"`
	// Denials, if the result tells of the exit and the start has set
	// [StartParams.Airlock], are what the sandbox is known to have denied: the first
	// 64 of different kinds. Feature [FeatureSandboxDenials].
	Denials []Denial `json:"denials,omitzero"`
	// SetupError, in the same case, tells that the sandbox could not be set up.
	// Feature [FeatureSandboxSetupError].
	SetupError *SetupError `json:"setupError,omitzero"`
}

// CloseStdinParams ends the standard input of a process, behind the writes that
// came before.
type CloseStdinParams struct {
	ProcessID string `json:"processId"`
}

// CloseStdinResult answers airlock/processCloseStdin.
type CloseStdinResult struct{}

// ResizeParams changes the size of a process's terminal, of which the programs
// in its foreground learn by SIGWINCH. Rows and Cols are 1 to 65535.
type ResizeParams struct {
	ProcessID string `json:"processId"`
	Rows      uint16 `json:"rows"`
	Cols      uint16 `json:"cols"`
}

// ResizeResult answers airlock/processResize. It is no error that the process
// has exited.
type ResizeResult struct{}

// SendSignalParams sends a signal to the process group of a process.
type SendSignalParams struct {
	ProcessID string     `json:"processId"`
	Signal    SignalName `json:"signal"`
}

// SignalName names a signal as POSIX does, without SIG.
type SignalName string

// Signals.
const (
	SignalHUP   SignalName = "HUP"
	SignalINT   SignalName = "INT"
	SignalQUIT  SignalName = "QUIT"
	SignalKILL  SignalName = "KILL"
	SignalUSR1  SignalName = "USR1"
	SignalUSR2  SignalName = "USR2"
	SignalTERM  SignalName = "TERM"
	SignalCONT  SignalName = "CONT"
	SignalSTOP  SignalName = "STOP"
	SignalWINCH SignalName = "WINCH"
)

// SendSignalResult answers airlock/processSignal.
type SendSignalResult struct {
	// Delivered is false if the process had exited.
	Delivered bool `json:"delivered"`
}

// TerminateTreeParams ends a process and all that it has started: they get
// SIGTERM and, those that are still there after the grace, SIGKILL.
type TerminateTreeParams struct {
	ProcessID string `json:"processId"`
	// GraceMs is in milliseconds; 0, or nothing, kills at once. At most
	// 3,600,000, an hour.
	GraceMs uint64 `json:"graceMs,omitzero"`
}

// TerminateTreeResult answers airlock/processTerminate, once all are dead or have
// withstood SIGKILL for two seconds. Process ids are in rising order; at most
// 65,536 of each are told.
type TerminateTreeResult struct {
	// Killed are the ids of those that were there and are dead.
	Killed []int `json:"killed"`
	// Survivors are the ids of those that do not die.
	Survivors []int `json:"survivors"`
}

// ListParams asks for the processes of the session.
type ListParams struct {
	// SessionID asks for those of another session. Only a connection to the
	// control socket may.
	SessionID *string `json:"sessionId,omitzero"`
	// After is the Next of the answer before; 0, or nothing, asks for the first
	// page.
	After uint64 `json:"after,omitzero"`
	// Usage asks also for what the processes use, which takes a while.
	Usage bool `json:"usage,omitzero"`
}

// ListResult answers airlock/processList.
type ListResult struct {
	// Processes are in the order of their starts, those that have closed and are
	// not forgotten included.
	Processes []ProcessInfo `json:"processes"`
	// Next is set if there are more.
	Next uint64 `json:"next,omitzero"`
}

// ProcessInfo describes a process.
type ProcessInfo struct {
	ProcessID string       `json:"processId"`
	State     ProcessState `json:"state"`
	// Argv is the program and its arguments, as far as they stay within 1 KiB.
	Argv []string `json:"argv"`
	// ArgvCut tells that this is not all of it.
	ArgvCut bool `json:"argvCut,omitzero"`
	TTY     bool `json:"tty"`
	// PID is the id of the process at the operating system, which is its
	// group's, too; 0 while it is starting.
	PID int `json:"pid,omitzero"`
	// StartedAtMs is when the start was asked for, in milliseconds since 1970.
	StartedAtMs int64 `json:"startedAtMs"`
	// ExitCode is set once the process has exited.
	ExitCode *int32    `json:"exitCode,omitzero"`
	Reason   EndReason `json:"reason,omitzero"`
	// NextSeq is the number that the next event will have.
	NextSeq uint64 `json:"nextSeq"`
	// OutputBytes counts what each stream has had.
	OutputBytes map[Stream]uint64 `json:"outputBytes"`
	// Usage is set if it was asked for and the process is there.
	Usage *ProcessUsage `json:"usage,omitzero"`
}

// ProcessState is where a process is in its life.
type ProcessState string

// States, in their order.
const (
	StateStarting ProcessState = "starting"
	StateRunning  ProcessState = "running"
	StateExited   ProcessState = "exited" // others hold its output open
	StateClosed   ProcessState = "closed"
)

// ProcessUsage is what a process and all that it has started use together.
type ProcessUsage struct {
	Processes int `json:"processes"`
	// CPUMs is the processor time in milliseconds of those that are alive, and
	// of those that they have waited for.
	CPUMs uint64 `json:"cpuMs"`
	// MemoryBytes is their resident memory; what they share counts each time.
	MemoryBytes uint64 `json:"memoryBytes"`
}
