//go:build unix && !linux

package outlog

func openTemp(dir string) (file, error) { return openRemoved(dir) }
