//go:build !linux

package tree

// SocketRecord is the record of a Unix socket that the program listens at: [Sweep]
// removes it once nobody does. It is empty on systems that have no Sweep.
func SocketRecord(string) string { return "" }
