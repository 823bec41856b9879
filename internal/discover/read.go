package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/airlock-exec/airlock/internal/files/regular"
)

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int) ([]byte, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := file.ReadAll(limit)
	if err == regular.ErrTooLarge {
		return nil, fmt.Errorf("it %w: the limit is %d bytes", err, limit)
	}
	return data, err
}

// isMissing tells whether there is nothing at a path: neither it nor the folder.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// listNames returns the names in a folder that fit, at most as many as limit, in
// their order, and whether there were more names than that. What can't be listed
// has none.
func listNames(dir string, limit int, fits func(name string) bool) (names []string, more bool) {
	// What is no folder is not opened, or not so that its other end is waited for.
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, false
	}
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	all, _ := file.Readdirnames(limit + 1)
	_ = file.Close() // it was only read
	for _, name := range all {
		if fits(name) {
			names = append(names, name)
		}
	}
	return names, len(all) > limit
}
