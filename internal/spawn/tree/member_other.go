//go:build !linux

package tree

// Before is not known here.
func (Member) Before(uint64) bool { return true }

// Clock is not needed.
func Clock() uint64 { return 0 }
