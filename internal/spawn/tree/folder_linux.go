package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// RuntimeFolder returns the folder for what has to survive this program; it may
// not be there. Nobody else may write to it, for what is in it decides which
// processes get killed.
func RuntimeFolder() (string, error) {
	if parent := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(parent) && private(parent) == nil {
		return filepath.Join(parent, "airlock"), nil
	}
	parent := os.TempDir()
	return filepath.Join(parent, "airlock-"+strconv.Itoa(os.Geteuid())), trusted(parent)
}

// MakeRuntimeFolder makes it unless it is there.
func MakeRuntimeFolder() (string, error) {
	path, err := RuntimeFolder()
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	return path, private(path)
}

// private returns what is wrong with a folder that should be ours alone.
func private(path string) error {
	s, err := statFolder(path)
	switch {
	case err != nil:
		return err
	case int(s.Uid) != os.Geteuid():
		return fmt.Errorf("the folder %s belongs to user %d", path, s.Uid)
	case s.Mode&0o077 != 0:
		return fmt.Errorf("the folder %s is open to other users (mode %o)", path, s.Mode&0o777)
	}
	return nil
}

// trusted returns what is wrong with a folder in which nobody else may exchange
// ours for another.
func trusted(path string) error {
	s, err := statFolder(path)
	switch {
	case err != nil:
		return err
	case s.Uid != 0 && int(s.Uid) != os.Geteuid():
		return fmt.Errorf("the folder %s belongs to user %d", path, s.Uid)
	case s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("the folder %s can be written to by others and is not sticky", path)
	}
	return nil
}

// statFolder returns the status of a folder. A link is none.
func statFolder(path string) (s unix.Stat_t, err error) {
	if err := unix.Lstat(path, &s); err != nil {
		return s, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s, fmt.Errorf("%s is not a folder", path)
	}
	return s, nil
}
