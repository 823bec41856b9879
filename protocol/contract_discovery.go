package protocol

// discovery are the methods of the dialect that tell what agents find on the
// executor's host.
func discovery() []Message {
	return []Message{
		request[EnvironmentConfigReadParams, EnvironmentConfigReadResult](MethodEnvironmentConfigRead,
			"Reads parts of the configuration of agents on the executor's host.",
			Failure{CodeInternal, "a file can't be read, or is no TOML"},
			Failure{CodeInvalidParams, "no path is given or one is empty, there are too many, or cwd is of another system"}),
		request[DiscoverRootsParams, DiscoverRootsResult](MethodDiscoverRoots,
			"Looks for plugins and skills in folders. What is wrong with one is told in its place.",
			Failure{CodeInvalidRequest, "there are too many folders"}),
		request[DiscoverCapabilitiesParams, DiscoverCapabilitiesResult](MethodDiscoverCapabilities,
			"Tells which plugins and skills the user of the executor has installed.",
			Failure{CodeInvalidRequest, "a confinement is asked for that can't be enforced"}),
	}
}
