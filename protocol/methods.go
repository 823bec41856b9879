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
	MethodProcessCloseStdin = "airlock/processCloseStdin"
)

// Notifications that Airlock lets clients send besides. An executor that does
// not name the feature takes them for a violation.
const (
	NotificationProcessWindow = "airlock/processWindow"
)

// Features that [AirlockInfo] may name.
const (
	// FeatureCloseStdin: [MethodProcessCloseStdin] is there.
	FeatureCloseStdin = "processCloseStdin"
	// FeatureTakeover: [InitializeExtra.Takeover] has effect.
	FeatureTakeover = "takeover"
	// FeatureProcessWindow: [InitializeExtra.Window] has effect, and
	// [NotificationProcessWindow] is understood.
	FeatureProcessWindow = "processWindow"
)
