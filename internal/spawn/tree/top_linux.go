package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A top directory is the control group that holds those of one keeper's trees.
// Its owner holds a lock on it for as long as it lives, so that others can tell
// one that has been left behind.

// topPrefix is what the names of all of them begin with.
const topPrefix = "airlock-"

var errOwned = errors.New("the program that has made it is alive")

// makeTop makes a top directory and locks it.
func makeTop(parent string) (path string, lock int, err error) {
	for range 10 {
		path = filepath.Join(parent, topPrefix+RandomName())
		if err := os.Mkdir(path, 0o755); err != nil {
			return "", -1, err
		}
		if lock, err = lockTop(path); err == nil {
			return path, lock, nil
		}
		_ = unix.Rmdir(path)
		if err != errOwned && !errors.Is(err, os.ErrNotExist) {
			break
		}
		// Somebody who removes what has been left behind was faster.
	}
	return "", -1, err
}

// lockTop opens a top directory and takes its lock, unless somebody has it.
func lockTop(path string) (lock int, err error) {
	lock, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err = unix.Flock(lock, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		// The directory may have been removed since it was opened.
		var locked, there unix.Stat_t
		if err = unix.Fstat(lock, &locked); err == nil {
			err = unix.Lstat(path, &there)
		}
		if err == nil && (locked.Ino != there.Ino || locked.Dev != there.Dev) {
			err = unix.ENOENT
		}
	}
	if err == nil {
		return lock, nil
	}
	unix.Close(lock)
	if err == unix.EWOULDBLOCK {
		return -1, errOwned
	}
	return -1, &os.PathError{Op: "flock", Path: path, Err: err}
}

// lockLeft takes the lock on a directory that has been left behind, once its owner
// is dead. The owner may be dying: its lock ends some time after the descriptor by
// which its death has been noticed. If the directory is not there any more, lock
// is -1 without an error.
func lockLeft(v version, path string) (lock int, err error) {
	if !strings.HasPrefix(filepath.Base(path), topPrefix) || !isCgroup(path, v) {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return -1, nil
		}
		return -1, errors.New("it is no control group of ours")
	}
	p := pauses{deadline: time.Now().Add(killTime)}
	lock, err = lockTop(path)
	for err == errOwned && p.next() {
		lock, err = lockTop(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	return lock, err
}

// sweepTop kills and removes what is in a top directory, and itself, once its
// owner is dead.
func sweepTop(v version, path string) error {
	lock, err := lockLeft(v, path)
	if lock < 0 {
		return err
	}
	defer unix.Close(lock)
	return removeTop(v, path)
}

// isCgroup tells whether path is in a hierarchy of that version.
func isCgroup(path string, v version) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && int64(s.Type) == v.fileSystem() //nolint:unconvert // its type differs between architectures
}

// sweepStale removes the top directories in parent whose owners are dead.
func sweepStale(v version, parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, topPrefix+"*"))
	for _, path := range paths {
		var s unix.Stat_t
		if unix.Lstat(path, &s) != nil || int(s.Uid) != os.Geteuid() {
			continue // others see to theirs
		}
		lock, err := lockTop(path)
		if err != nil {
			continue
		}
		// If it fails the next one tries again.
		_ = removeTop(v, path)
		unix.Close(lock)
	}
}

// removeTop kills and removes what is in a top directory, and itself. The
// caller has the lock.
func removeTop(v version, path string) error {
	deadline := time.Now().Add(killTime)
	if !v.kill(path, deadline) {
		return fmt.Errorf("processes in %s do not die", path)
	}
	return removeCgroup(path, deadline)
}

// removeCgroup removes an empty control group and those in it, which members
// may have made.
func removeCgroup(path string, deadline time.Time) error {
	p := pauses{deadline: deadline}
	for {
		entries, err := os.ReadDir(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				if err := removeCgroup(filepath.Join(path, e.Name()), deadline); err != nil {
					return err
				}
			}
		}
		err = unix.Rmdir(path)
		if err == nil || err == unix.ENOENT {
			return nil
		}
		// The last members may take a moment to be gone altogether.
		if err != unix.EBUSY || !p.next() {
			return &os.PathError{Op: "rmdir", Path: path, Err: err}
		}
	}
}
