package discover

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Why a file is not read, besides what the system says.
var (
	errNotRegular = errors.New("is not a file")
	errTooLarge   = errors.New("is too large")
)

// readFile reads a regular file of at most limit bytes. It waits for no other end
// of a pipe, and no device.
func readFile(path string, limit int64) (_ []byte, err error) {
	// What opening a device does is not known: it is not even tried.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat() // what has been opened may be something else by now
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > limit:
		return nil, tooLarge(limit)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("it %w: the limit is %d bytes", errTooLarge, limit)
}

// isMissing tells whether there is nothing at a path: neither it nor the folder.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// listNames returns the names in a folder that fit, at most as many as limit, in
// their order, and whether there were more names than that. What can't be listed
// has none.
func listNames(dir string, limit int, fits func(name string) bool) (names []string, more bool) {
	file, err := os.Open(dir)
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
