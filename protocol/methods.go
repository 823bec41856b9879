package protocol

// Requests that a client may send.
const (
	MethodInitialize        = "initialize"
	MethodEnvironmentInfo   = "environment/info"
	MethodEnvironmentStatus = "environment/status"
	MethodProcessStart      = "process/start"
	MethodProcessRead       = "process/read"
	MethodProcessWrite      = "process/write"
	MethodProcessSignal     = "process/signal"
	MethodProcessTerminate  = "process/terminate"
)

// NotificationInitialized is the one notification that a client may send: it
// ends the handshake.
const NotificationInitialized = "initialized"

// Notifications that an executor sends.
const (
	NotificationProcessOutput = "process/output"
	NotificationProcessExited = "process/exited"
	NotificationProcessClosed = "process/closed"
)

// Requests that Airlock adds to the dialect. The features in
// [AirlockInfo] tell which of them an executor has.
const (
	MethodProcessCloseStdin    = "airlock/processCloseStdin"
	MethodProcessResize        = "airlock/processResize"
	MethodProcessSendSignal    = "airlock/processSignal"
	MethodProcessTerminateTree = "airlock/processTerminate"
	MethodProcessList          = "airlock/processList"
)

// Requests that only a connection to the control socket may send.
const (
	MethodSessionList      = "airlock/sessionList"
	MethodSessionTerminate = "airlock/sessionTerminate"
	MethodObserve          = "airlock/observe"
)

// Notifications that Airlock lets clients send besides. An executor that does
// not name the feature takes them for a violation.
const (
	NotificationProcessWindow = "airlock/processWindow"
)

// Features that [AirlockInfo] may name. Each can be switched off.
const (
	// FeatureTakeover: [InitializeExtra.Takeover] has effect.
	FeatureTakeover = "takeover"
	// FeatureProcessWindow: [InitializeExtra.Window] has effect, and
	// [NotificationProcessWindow] is understood.
	FeatureProcessWindow = "processWindow"
	// FeatureCloseStdin: [MethodProcessCloseStdin] is there.
	FeatureCloseStdin = "processCloseStdin"
	// FeatureStdin: [StartExtra.Stdin] has effect.
	FeatureStdin = "processStdin"
	// FeatureResize: [StartExtra.TerminalSize] has effect, and
	// [MethodProcessResize] is there.
	FeatureResize = "processResize"
	// FeatureTimeouts: [StartExtra.TimeoutMs] and [StartExtra.IdleTimeoutMs]
	// have effect.
	FeatureTimeouts = "processTimeouts"
	// FeatureLimits: [StartExtra.Limits] has effect.
	FeatureLimits = "processLimits"
	// FeatureSignal: [MethodProcessSendSignal] is there.
	FeatureSignal = "processSignal"
	// FeatureTerminate: [MethodProcessTerminateTree] is there.
	FeatureTerminate = "processTerminate"
	// FeatureList: [MethodProcessList] is there.
	FeatureList = "processList"
)

// Features returns the names of all features.
func Features() []string {
	return []string{
		FeatureTakeover, FeatureProcessWindow, FeatureCloseStdin, FeatureStdin, FeatureResize,
		FeatureTimeouts, FeatureLimits, FeatureSignal, FeatureTerminate, FeatureList,
	}
}
