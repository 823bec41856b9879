//go:build !linux

package landlock

// ABI returns the version of the kernel's Landlock: 0, as it has none.
func ABI() int { return 0 }
