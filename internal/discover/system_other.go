//go:build !unix

package discover

// systemDir is the folder of what the host's administrator has set for agents:
// there is none.
const systemDir = ""
