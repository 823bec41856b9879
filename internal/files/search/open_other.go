//go:build !unix

package search

import "os"

// openDir opens a directory.
func openDir(path string, _ bool) (*os.File, error) { return os.Open(path) }
