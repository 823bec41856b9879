//go:build !unix

package sandbox

import (
	"io"
	"os"
)

func (system) ReadFile(path string, most int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

func openDirectory(path string) (*os.File, error) { return os.Open(path) }
