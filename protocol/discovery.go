package protocol

// EnvironmentConfigReadParams asks for parts of the configuration that agents
// find on the executor's host. At least one path must be given.
type EnvironmentConfigReadParams struct {
	// CWD is the folder whose project counts.
	CWD PathURI `json:"cwd"`
	// ConfigPaths are what is asked for of the configuration: each the keys that
	// lead to a value, at least one.
	ConfigPaths [][]string `json:"configPaths"`
	// RequirementsPaths are the same for what the host demands of agents.
	RequirementsPaths [][]string `json:"requirementsPaths"`
}

// EnvironmentConfigReadResult answers environmentConfig/read.
type EnvironmentConfigReadResult struct {
	UserHomeDir *PathURI `json:"userHomeDir"`
	// CodexHomeDir is the folder of the user's configuration, which need not be
	// there.
	CodexHomeDir PathURI      `json:"codexHomeDir"`
	Hostname     *string      `json:"hostname"`
	Config       ConfigLayers `json:"config"`
	Requirements ConfigLayers `json:"requirements"`
}

// ConfigLayers are files of which a later one overrides an earlier one.
type ConfigLayers struct {
	// Layers are the files that have something of what was asked for.
	Layers []ConfigLayer `json:"layers"`
	// CloudInsertionIndex is where a client puts what it knows from elsewhere.
	CloudInsertionIndex uint64 `json:"cloudInsertionIndex"`
}

// ConfigLayer is what was asked for of one file.
type ConfigLayer struct {
	// Source says which file it is, for people.
	Source string `json:"source"`
	// BaseDir is the file's folder, against which its paths are resolved.
	BaseDir PathURI `json:"baseDir"`
	TOML    string  `json:"toml"`
}

// DiscoverRootsParams asks what is in some folders.
type DiscoverRootsParams struct {
	// Roots are at most 128.
	Roots []DiscoverRoot `json:"roots"`
}

// DiscoverRoot is a folder to look into.
type DiscoverRoot struct {
	// ID is repeated in the answer; nothing else is made of it.
	ID   string  `json:"id"`
	Path PathURI `json:"path"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero"`
}

// DiscoverRootsResult answers capabilityRoots/discoverV1.
type DiscoverRootsResult struct {
	// Roots are in the order of the request.
	Roots []DiscoveredRoot `json:"roots"`
}

// DiscoveredRoot is what is in a folder.
type DiscoveredRoot struct {
	ID   string  `json:"id"`
	Path PathURI `json:"path"`
	// Plugin is null if the folder is none.
	Plugin *PluginFiles `json:"plugin"`
	// Skills are in the order of their paths.
	Skills []SkillFiles `json:"skills"`
	// NamespaceManifests are those of plugins that skills may belong to: first
	// that of the folder, or of the nearest one above it that has one, then those
	// of folders in it.
	NamespaceManifests []CapabilityFile `json:"namespaceManifests"`
	// Warnings say what has been left out.
	Warnings []string `json:"warnings"`
	// Error says why nothing could be found out.
	Error *string `json:"error"`
}

// PluginFiles are the files that a plugin is described by.
type PluginFiles struct {
	Manifest CapabilityFile `json:"manifest"`
	// MCPConfig is null also if the manifest has it in itself.
	MCPConfig  *CapabilityFile `json:"mcpConfig"`
	AppsConfig *CapabilityFile `json:"appsConfig"`
}

// SkillFiles are the files of a skill.
type SkillFiles struct {
	Instructions CapabilityFile  `json:"instructions"`
	Metadata     *CapabilityFile `json:"metadata"`
}

// CapabilityFile is a whole file.
type CapabilityFile struct {
	Path     PathURI `json:"path"`
	Contents string  `json:"contents"`
}

// DiscoverCapabilitiesParams asks what is installed on the executor's host.
type DiscoverCapabilitiesParams struct {
	// CWD is where the client works. What is installed is so anywhere.
	CWD PathURI `json:"cwd"`
	// Sandbox is the confinement asked for; null asks for none.
	Sandbox *SandboxContext `json:"sandbox,omitzero" wire:"struct=FileSystemSandboxContext"`
}

// DiscoverCapabilitiesResult answers capabilities/discoverV2.
type DiscoverCapabilitiesResult struct {
	Plugins  []InstalledPlugin `json:"plugins"`
	Skills   []InstalledSkill  `json:"skills"`
	Warnings []string          `json:"warnings"`
}

// InstalledPlugin is a plugin of the Codex home.
type InstalledPlugin struct {
	// ID is NAME@MARKETPLACE.
	ID          string `json:"id"`
	DisplayName string `json:"displayName"`
	// RemotePluginID is the plugin's id where it was installed from, if that is
	// known.
	RemotePluginID *string `json:"remotePluginId"`
	Version        *string `json:"version"`
	// Root is the plugin's folder.
	Root  PathURI     `json:"root"`
	Files PluginFiles `json:"files"`
	// Skills have names that begin with the plugin's.
	Skills []InstalledSkill `json:"skills"`
}

// InstalledSkill is what the head of a skill's file says.
type InstalledSkill struct {
	Name             string  `json:"name"`
	Description      string  `json:"description"`
	ShortDescription *string `json:"shortDescription"`
	// Path is the skill's file.
	Path PathURI `json:"path"`
	// DiscoveryRoot is where the skill was found; it is missing for one of a
	// plugin.
	DiscoveryRoot *DiscoveryRoot     `json:"discoveryRoot,omitzero"`
	Dependencies  *SkillDependencies `json:"dependencies"`
	Policy        *SkillPolicy       `json:"policy"`
}

// DiscoveryRoot is a folder in which skills are looked for.
type DiscoveryRoot struct {
	ID   DiscoveryRootID `json:"id"`
	Path PathURI         `json:"path"`
}

// DiscoveryRootID tells folders of skills apart.
type DiscoveryRootID string

// Folders of skills. There may be others.
const (
	CodexHomeSkills DiscoveryRootID = "codex-home-skills" // skills of the Codex home
	UserAgentSkills DiscoveryRootID = "user-agent-skills" // .agents/skills of the user's home
	SystemSkills    DiscoveryRootID = "system-skills"     // skills of the host's administrator
)

// SkillDependencies is what a skill needs.
type SkillDependencies struct {
	Tools []SkillTool `json:"tools"`
}

// SkillTool is a tool that a skill needs.
type SkillTool struct {
	Type              string  `json:"type"`
	Value             string  `json:"value"`
	Description       *string `json:"description"`
	Transport         *string `json:"transport"`
	Command           *string `json:"command"`
	URL               *string `json:"url"`
	OAuthCallbackPort *uint16 `json:"oauthCallbackPort"`
}

// SkillPolicy says who may use a skill, and how.
type SkillPolicy struct {
	AllowImplicitInvocation *bool    `json:"allowImplicitInvocation"`
	Products                []string `json:"products"`
}
