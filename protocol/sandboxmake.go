package protocol

// FullAccessSandbox restricts nothing.
func FullAccessSandbox() *SandboxContext {
	return &SandboxContext{
		Permissions:         PermissionProfile{Type: PermissionsDisabled},
		WindowsSandboxLevel: WindowsSandboxDisabled,
	}
}

// RestrictedSandbox allows what the entries allow, and nothing else.
func RestrictedSandbox(network NetworkPolicy, entries ...SandboxEntry) *SandboxContext {
	return &SandboxContext{
		Permissions: PermissionProfile{
			Type:       PermissionsManaged,
			FileSystem: &FileSystemPolicy{Type: FileSystemRestricted, Entries: append([]SandboxEntry{}, entries...)},
			Network:    network,
		},
		WindowsSandboxLevel: WindowsSandboxDisabled,
	}
}

// ReadOnlySandbox lets all files be read, and none be written.
func ReadOnlySandbox(network NetworkPolicy) *SandboxContext {
	return RestrictedSandbox(network, SpecialEntry(SpecialRoot, AccessRead))
}

// WorkspaceWriteSandbox lets all files be read, and those below the roots and the
// directories for temporary files be written.
func WorkspaceWriteSandbox(network NetworkPolicy, roots ...PathURI) *SandboxContext {
	s := RestrictedSandbox(network,
		SpecialEntry(SpecialRoot, AccessRead),
		SpecialEntry(SpecialProjectRoots, AccessWrite),
		SpecialEntry(SpecialSlashTmp, AccessWrite),
		SpecialEntry(SpecialTmpdir, AccessWrite))
	s.WorkspaceRoots = append([]PathURI{}, roots...)
	return s
}

// PathEntry is about a path and all below it.
func PathEntry(path PathURI, access SandboxAccess) SandboxEntry {
	return SandboxEntry{Path: SandboxPath{Type: SandboxPathExact, Path: &path}, Access: access}
}

// GlobEntry is about the files that match a pattern. Only [AccessDeny] has an
// effect.
func GlobEntry(pattern string, access SandboxAccess) SandboxEntry {
	return SandboxEntry{Path: SandboxPath{Type: SandboxPathGlob, Pattern: &pattern}, Access: access}
}

// SpecialEntry is about a path that the executor knows.
func SpecialEntry(kind SpecialPathKind, access SandboxAccess) SandboxEntry {
	return SandboxEntry{
		Path:   SandboxPath{Type: SandboxPathSpecial, Value: &SpecialPath{Kind: kind}},
		Access: access,
	}
}

// ProjectEntry is about a path relative to each of the workspace roots.
func ProjectEntry(subpath string, access SandboxAccess) SandboxEntry {
	e := SpecialEntry(SpecialProjectRoots, access)
	e.Path.Value.Subpath = &subpath
	return e
}
