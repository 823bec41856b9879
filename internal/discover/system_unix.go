//go:build unix

package discover

// systemDir is the folder of what the host's administrator has set for agents.
const systemDir = "/etc/codex"
