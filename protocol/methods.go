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

	MethodReadFile        = "fs/readFile"
	MethodWriteFile       = "fs/writeFile"
	MethodOpenFile        = "fs/open"
	MethodReadBlock       = "fs/readBlock"
	MethodWriteBlock      = "fs/writeBlock"
	MethodCloseFile       = "fs/close"
	MethodCreateDirectory = "fs/createDirectory"
	MethodGetMetadata     = "fs/getMetadata"
	MethodCanonicalize    = "fs/canonicalize"
	MethodReadDirectory   = "fs/readDirectory"
	MethodWalk            = "fs/walk"
	MethodRemove          = "fs/remove"
	MethodCopy            = "fs/copy"
	MethodWatchMissing    = "fs/watchMissing"

	MethodHTTPRequest = "http/request"

	MethodEnvironmentConfigRead = "environmentConfig/read"
	MethodDiscoverRoots         = "capabilityRoots/discoverV1"
	MethodDiscoverCapabilities  = "capabilities/discoverV2"
)

// NotificationInitialized is the one notification that a client may send: it
// ends the handshake.
const NotificationInitialized = "initialized"

// Notifications that an executor sends.
const (
	NotificationProcessOutput = "process/output"
	NotificationProcessExited = "process/exited"
	NotificationProcessClosed = "process/closed"

	NotificationMissingChanged = "fs/missingChanged"
	NotificationHTTPBodyDelta  = "http/request/bodyDelta"
)

// Requests that Airlock adds to the dialect. The features in
// [AirlockInfo] tell which of them an executor has.
const (
	MethodProcessCloseStdin    = "airlock/processCloseStdin"
	MethodProcessResize        = "airlock/processResize"
	MethodProcessSendSignal    = "airlock/processSignal"
	MethodProcessTerminateTree = "airlock/processTerminate"
	MethodProcessList          = "airlock/processList"

	MethodRename    = "airlock/fsRename"
	MethodChmod     = "airlock/fsChmod"
	MethodReadRange = "airlock/fsReadRange"
	MethodSearch    = "airlock/fsSearch"
	MethodWatch     = "airlock/fsWatch"
	MethodUnwatch   = "airlock/fsUnwatch"
)

// NotificationChanged is sent by executors that have [FeatureFSWatch].
const NotificationChanged = "airlock/fsChanged"

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
	// FeatureFSOpenKeep: [OpenExtra.Keep] has effect.
	FeatureFSOpenKeep = "fsOpenKeep"
	// FeatureFSRename: [MethodRename] is there.
	FeatureFSRename = "fsRename"
	// FeatureFSChmod: [MethodChmod] is there.
	FeatureFSChmod = "fsChmod"
	// FeatureFSReadRange: [MethodReadRange] is there.
	FeatureFSReadRange = "fsReadRange"
	// FeatureFSSearch: [MethodSearch] is there.
	FeatureFSSearch = "fsSearch"
	// FeatureFSWatch: [MethodWatch] and [MethodUnwatch] are there.
	FeatureFSWatch = "fsWatch"
	// FeatureSandboxTier: [StartResultExtra.SandboxTier] is told.
	FeatureSandboxTier = "sandboxTier"
	// FeatureSandboxDenials: [EventExtra.Denials] and [ReadExtra.Denials] are told.
	FeatureSandboxDenials = "sandboxDenials"
	// FeatureSandboxSetupError: [EventExtra.SetupError] and [ReadExtra.SetupError]
	// are told.
	FeatureSandboxSetupError = "sandboxSetupError"
)

// Members of [Capabilities] that can be switched off as features can, and the
// method with them: they tell what is in the home of the executor's user.
const (
	CapabilityEnvironmentConfigRead = "environmentConfigRead" // [MethodEnvironmentConfigRead]
	CapabilityDiscoveryV2           = "capabilityDiscoveryV2" // [MethodDiscoverCapabilities]
)

// Features returns the names of all features.
func Features() []string {
	return []string{
		FeatureTakeover, FeatureProcessWindow, FeatureCloseStdin, FeatureStdin, FeatureResize,
		FeatureTimeouts, FeatureLimits, FeatureSignal, FeatureTerminate, FeatureList,
		FeatureFSOpenKeep, FeatureFSRename, FeatureFSChmod, FeatureFSReadRange, FeatureFSSearch, FeatureFSWatch,
		FeatureSandboxTier, FeatureSandboxDenials, FeatureSandboxSetupError,
	}
}
