package protocol

// SandboxContext is the confinement that a client asks for, of a process or of an
// operation on files.
type SandboxContext struct {
	// Permissions says what may be done.
	Permissions PermissionProfile `json:"permissions"`
	// SandboxOverride tells how far the user has approved of doing without the
	// sandbox. It is for records only, and changes nothing.
	SandboxOverride SandboxOverride `json:"sandboxOverride,omitzero"`
	// CWD is the directory that relative patterns refer to; by default that of the
	// process. An operation on files has none.
	CWD *PathURI `json:"cwd,omitzero"`
	// PolicyContext takes the place of CWD and WorkspaceRoots.
	PolicyContext *SandboxPolicyContext `json:"policyContext,omitzero"`
	// WorkspaceRoots are the directories that project_roots stands for.
	WorkspaceRoots []PathURI `json:"workspaceRoots" wire:"optional"`
	// UserHomeDir is the home directory on the executor's host. No entry refers
	// to it on Linux.
	UserHomeDir *PathURI `json:"userHomeDir,omitzero"`
	// TemporaryDirectories are what tmpdir stands for in operations on files; by
	// default that is the TMPDIR of the executor. For a process it is its own
	// TMPDIR.
	TemporaryDirectories *[]PathURI `json:"temporaryDirectories,omitzero"`
	// WindowsSandboxLevel selects the backend on Windows, and has to be there
	// everywhere.
	WindowsSandboxLevel WindowsSandboxLevel `json:"windowsSandboxLevel"`
	// WindowsSandboxProxySettingsMode matters on Windows only.
	WindowsSandboxProxySettingsMode *WindowsSandboxProxySettingsMode `json:"windowsSandboxProxySettingsMode,omitzero"`
	// UseLegacyLandlock asks for an older backend. Airlock enforces the policy in
	// its own way all the same.
	UseLegacyLandlock bool `json:"useLegacyLandlock,omitzero"`
}

// SandboxPolicyContext says what the relative parts of a policy refer to.
type SandboxPolicyContext struct {
	CWD            *PathURI  `json:"cwd,omitzero"`
	WorkspaceRoots []PathURI `json:"workspaceRoots" wire:"optional"`
}

// PermissionProfile says what may be done. What else there is depends on the type.
type PermissionProfile struct {
	Type PermissionProfileType `json:"type"`
	// FileSystem is there if Type is [PermissionsManaged].
	FileSystem *FileSystemPolicy `json:"file_system,omitzero"`
	// Network is there unless Type is [PermissionsDisabled].
	Network NetworkPolicy `json:"network,omitzero"`
}

// PermissionProfileType tells who enforces a profile.
type PermissionProfileType string

// Types of profiles.
const (
	PermissionsManaged  PermissionProfileType = "managed"  // the executor
	PermissionsDisabled PermissionProfileType = "disabled" // nobody: all is allowed
	PermissionsExternal PermissionProfileType = "external" // somebody else as far as files go; the network is the executor's
)

// NetworkPolicy says whether there is a network.
type NetworkPolicy string

// Network policies.
const (
	NetworkRestricted NetworkPolicy = "restricted"
	NetworkEnabled    NetworkPolicy = "enabled"
)

// FileSystemPolicy says which files may be accessed.
type FileSystemPolicy struct {
	Type FileSystemPolicyType `json:"type"`
	// Entries decide, the longest path first. They are there, and may be none, if
	// Type is [FileSystemRestricted].
	Entries []SandboxEntry `json:"entries,omitzero"`
	// GlobScanMaxDepth is how far below its directory a pattern is looked for.
	GlobScanMaxDepth *NonZero `json:"glob_scan_max_depth,omitzero"`
}

// FileSystemPolicyType tells whether files are restricted.
type FileSystemPolicyType string

// Types of file system policies.
const (
	FileSystemRestricted   FileSystemPolicyType = "restricted"
	FileSystemUnrestricted FileSystemPolicyType = "unrestricted"
)

// SandboxEntry says what may be done with a path and all below it.
type SandboxEntry struct {
	Path   SandboxPath   `json:"path"`
	Access SandboxAccess `json:"access"`
	// MissingPathBehavior marks entries that clients add on their own.
	MissingPathBehavior *MissingPathBehavior `json:"missing_path_behavior,omitzero"`
}

// SandboxAccess is what an entry allows.
type SandboxAccess string

// Accesses.
const (
	AccessRead  SandboxAccess = "read"
	AccessWrite SandboxAccess = "write" // and read
	AccessDeny  SandboxAccess = "deny"
	AccessNone  SandboxAccess = "none" // an older name of [AccessDeny]
)

// MissingPathBehavior says what to do about a path that is not there.
type MissingPathBehavior string

// MissingPathSkip leaves the entry out. The dialect protects the path anyway.
const MissingPathSkip MissingPathBehavior = "skip"

// SandboxPath says which paths an entry is about. What else there is depends on the
// type.
type SandboxPath struct {
	Type SandboxPathType `json:"type"`
	// Path is there if Type is [SandboxPathExact].
	Path *PathURI `json:"path,omitzero"`
	// Pattern is there if Type is [SandboxPathGlob]. It is absolute, or relative
	// to the policy's directory.
	Pattern *string `json:"pattern,omitzero"`
	// Value is there if Type is [SandboxPathSpecial].
	Value *SpecialPath `json:"value,omitzero"`
}

// SandboxPathType tells how a path is given.
type SandboxPathType string

// Types of paths.
const (
	SandboxPathExact   SandboxPathType = "path"
	SandboxPathGlob    SandboxPathType = "glob_pattern"
	SandboxPathSpecial SandboxPathType = "special"
)

// SpecialPath is a path that the executor knows. What else there is depends on the
// kind.
type SpecialPath struct {
	Kind SpecialPathKind `json:"kind"`
	// Path may be there if Kind is [SpecialUnknown].
	Path *string `json:"path,omitzero"`
	// Subpath is relative to each root if Kind is [SpecialProjectRoots].
	Subpath *string `json:"subpath,omitzero"`
}

// SpecialPathKind names a path that the executor knows.
type SpecialPathKind string

// Special paths.
const (
	SpecialRoot             SpecialPathKind = "root"
	SpecialMinimal          SpecialPathKind = "minimal"                   // what programs need to run at all
	SpecialCurrentDirectory SpecialPathKind = "current_working_directory" // the roots, too
	SpecialProjectRoots     SpecialPathKind = "project_roots"
	SpecialTmpdir           SpecialPathKind = "tmpdir"
	SpecialSlashTmp         SpecialPathKind = "slash_tmp"
	SpecialUnknown          SpecialPathKind = "unknown" // ignored
)

// SandboxOverride is the state of an approval.
type SandboxOverride string

// States of an approval.
const (
	OverrideNone      SandboxOverride = "noOverride"
	OverrideEscalated SandboxOverride = "escalatedSandboxWithRestrictions"
	OverrideBypass    SandboxOverride = "bypassSandboxFirstAttempt"
)

// WindowsSandboxLevel selects a backend on Windows.
type WindowsSandboxLevel string

// Backends on Windows.
const (
	WindowsSandboxDisabled   WindowsSandboxLevel = "disabled"
	WindowsSandboxRestricted WindowsSandboxLevel = "restricted-token"
	WindowsSandboxElevated   WindowsSandboxLevel = "elevated"
	WindowsSandboxMXC        WindowsSandboxLevel = "mxc"
)

// WindowsSandboxProxySettingsMode says what becomes of the proxy settings of
// Windows.
type WindowsSandboxProxySettingsMode string

// Modes.
const (
	ProxySettingsReconcile WindowsSandboxProxySettingsMode = "reconcile"
	ProxySettingsPreserve  WindowsSandboxProxySettingsMode = "preserve"
)

// NonZero is a number that is not 0.
type NonZero uint64
