package protocol

// CompatibleVersion is the Codex version whose exec-server contract this
// package describes. Clients decide by it what they may ask for.
const CompatibleVersion = "0.171.0"

// InitializeParams opens a session, or resumes one.
type InitializeParams struct {
	// ClientName is a label for logs; it may be empty.
	ClientName string `json:"clientName"`
	// ResumeSessionID names a detached session to attach to again.
	ResumeSessionID *string `json:"resumeSessionId"`
	// Airlock asks for what Airlock adds; other executors ignore it.
	Airlock *InitializeExtra `json:"airlock,omitzero"`
}

// InitializeResult answers initialize.
type InitializeResult struct {
	SessionID       string          `json:"sessionId"`
	EnvironmentInfo EnvironmentInfo `json:"environmentInfo"`
}

// EnvironmentInfo describes the executor's host. It answers environment/info
// and is part of [InitializeResult].
type EnvironmentInfo struct {
	Shell           Shell  `json:"shell"`
	ExecutorVersion string `json:"executorVersion"`
	// ProviderID is "sha256:" and 64 hex digits, stable for one machine.
	ProviderID string `json:"providerId"`
	// CWD is the executor's own working directory.
	CWD                  *PathURI     `json:"cwd"`
	UserHomeDir          *PathURI     `json:"userHomeDir,omitzero"`
	PlatformOS           string       `json:"platformOs"`
	PrependPathDirs      []PathURI    `json:"prependPathDirs"`
	TemporaryDirectories []PathURI    `json:"temporaryDirectories"`
	TempDir              PathURI      `json:"tempDir"`
	Capabilities         Capabilities `json:"capabilities"`
	// Airlock is set by Airlock executors only.
	Airlock *AirlockInfo `json:"airlock,omitzero"`
}

// Shell is the login shell of the executor's user.
type Shell struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// AirlockInfo tells a client that the executor is Airlock, and which of the
// additive features it has.
type AirlockInfo struct {
	Version  string   `json:"version"`
	Features []string `json:"features"`
}

// Capabilities tells what an executor can do. A missing member means false.
type Capabilities struct {
	NetworkProxyLaunch                         bool `json:"networkProxyLaunch" wire:"optional"`
	NetworkProxyReviewDomains                  bool `json:"networkProxyReviewDomains" wire:"optional"`
	NetworkProxyTransparentTCP                 bool `json:"networkProxyTransparentTcp" wire:"optional"`
	CredentialMasking                          bool `json:"credentialMasking" wire:"optional"`
	CredentialMaskingCustomProviders           bool `json:"credentialMaskingCustomProviders" wire:"optional"`
	CapabilityDiscoverySandbox                 bool `json:"capabilityDiscoverySandbox" wire:"optional"`
	FSWatchMissing                             bool `json:"fsWatchMissing" wire:"optional"`
	CapabilityDiscoveryV2                      bool `json:"capabilityDiscoveryV2" wire:"optional"`
	EnvironmentConfigRead                      bool `json:"environmentConfigRead" wire:"optional"`
	HTTPHeaderEnvVars                          bool `json:"httpHeaderEnvVars" wire:"optional"`
	SandboxedFileStreaming                     bool `json:"sandboxedFileStreaming" wire:"optional"`
	FileWriteStreaming                         bool `json:"fileWriteStreaming" wire:"optional"`
	ShellSnapshotV2                            bool `json:"shellSnapshotV2" wire:"optional"`
	WindowsMXC                                 bool `json:"windowsMxc" wire:"optional"`
	LinuxRootWritePreservesDevices             bool `json:"linuxRootWritePreservesDevices" wire:"optional"`
	LinuxApprovedRootWritePreservesRestriction bool `json:"linuxApprovedRootWritePreservesRestrictions" wire:"optional"`
}

// EnvironmentStatus answers environment/status.
type EnvironmentStatus struct {
	// Status is always [StatusReady].
	Status string `json:"status"`
}

// StatusReady is the status of an executor that takes requests.
const StatusReady = "ready"

// Unit is the type of parameters that carry nothing: they may be missing,
// null or an empty object.
type Unit struct{}
