package doctor

// probes are what is looked at, in the order of the report. The sandbox is not
// built yet, so no default depends on what it will need.
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

		{"user-namespace", Sandbox, false, userPurpose, (*host).userNamespace},
		{"mount-namespace", Sandbox, false, mountPurpose, (*host).mountNamespace},
		{"pid-namespace", Sandbox, false, pidPurpose, (*host).pidNamespace},
		{"ipc-namespace", Sandbox, false, ipcPurpose, (*host).ipcNamespace},
		{"network-namespace", Sandbox, false, networkPurpose, (*host).networkNamespace},
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
