package doctor

// probes are what is looked at, in the order of the report. Of the sandbox, the
// first one tells whether it works; the others tell why it does not.
func probes() []probe {
	return []probe{
		{"terminals", Processes, true, terminalsPurpose, (*host).terminals},
		{"trees", Processes, true, treesPurpose, (*host).trees},
		{"helper", Processes, true, helperPurpose, (*host).helperStarts},
		{"pidfd", Processes, true, pidfdPurpose, (*host).pidfds},
		{"subreaper", Processes, true, subreaperPurpose, (*host).subreapers},

		{"control-groups", Limits, false, cgroupsPurpose, (*host).controlGroups},
		{"memory-limit", Limits, false, memoryLimitPurpose, (*host).memoryLimits},
		{"process-limit", Limits, false, processLimitPurpose, (*host).processLimits},

		{"sandbox", Sandbox, true, sandboxPurpose, (*host).sandboxTiers},
		{"user-namespace", Sandbox, false, userPurpose, (*host).userNamespace},
		{"mount-namespace", Sandbox, false, mountPurpose, (*host).mountNamespace},
		{"pid-namespace", Sandbox, false, pidPurpose, (*host).pidNamespace},
		{"ipc-namespace", Sandbox, false, ipcPurpose, (*host).ipcNamespace},
		{"network-namespace", Sandbox, false, networkPurpose, (*host).networkNamespace},
		{"mounts", Sandbox, false, mountsPurpose, (*host).mountCalls},
		{"landlock", Sandbox, false, landlockPurpose, (*host).landlockLevel},
		{"seccomp", Sandbox, false, seccompPurpose, (*host).seccompFilters},
		{"no-new-privs", Sandbox, false, noNewPrivsPurpose, (*host).newPrivileges},

		{"descriptors", Room, true, descriptorsPurpose, (*host).descriptorRoom},
		{"processes", Room, true, processRoomPurpose, (*host).processRoom},
		{"memory", Room, true, memoryRoomPurpose, (*host).memoryRoom},

		{"spill-folder", Folders, true, spillPurpose, (*host).spillFolder},
		{"control-folder", Folders, true, controlPurpose, (*host).controlFolder},

		{"kernel", System, true, kernelPurpose, (*host).kernel},
		{"container", System, false, containerPurpose, (*host).container},
	}
}
