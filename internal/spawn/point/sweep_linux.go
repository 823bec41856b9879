package point

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// recordPrefix is what records begin with.
const recordPrefix = "points "

// maxList is more than a list can have of use.
const maxList = 64 << 20

// Records tells whether a record is one of this package.
func Records(record string) bool { return strings.HasPrefix(record, recordPrefix) }

func parseRecord(record string) (string, error) {
	path, err := strconv.Unquote(strings.TrimPrefix(record, recordPrefix))
	if !Records(record) || err != nil || !strings.HasPrefix(filepath.Base(path), listPrefix) {
		return "", fmt.Errorf("reading record %q: it is not one of ours", record)
	}
	return path, nil
}

// lists are those that were opened while they had a name, by that.
var lists struct {
	mu    sync.Mutex
	files map[string]*os.File // guarded by mu
}

// Hold sees to it that Sweep can do what a record asks for although somebody has
// removed the list by then. It may be called again.
func Hold(record string) {
	path, err := parseRecord(record)
	if err != nil {
		return
	}
	lists.mu.Lock()
	defer lists.mu.Unlock()
	if lists.files[path] != nil {
		return
	}
	if file, err := openList(path); err == nil {
		if lists.files == nil {
			lists.files = make(map[string]*os.File)
		}
		lists.files[path] = file
	}
}

func openList(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// Sweep removes the mount points that a record's program may have left behind,
// soon after its end, unless others need them. Whoever has mounted something there
// ought to be dead already. It may be called again.
func Sweep(record string) error {
	path, err := parseRecord(record)
	if err != nil {
		return err
	}
	lists.mu.Lock()
	file := lists.files[path]
	lists.mu.Unlock()
	if file == nil {
		file, err = openList(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // somebody else has swept
		}
		if err != nil {
			return err
		}
		defer file.Close()
	}
	// The end of a program is not one moment.
	deadline := time.Now().Add(limits.PointLockTimeout)
	err = lockList(file)
	for pause := time.Millisecond; err == unix.EWOULDBLOCK && time.Now().Before(deadline); pause *= 2 {
		<-time.After(pause)
		err = lockList(file)
	}
	if err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return sweepList(file, path)
}

// sweepList removes what is on a list, which is locked, and the list.
func sweepList(file *os.File, path string) error {
	content, err := io.ReadAll(io.NewSectionReader(file, 0, maxList))
	if err != nil {
		return err
	}
	paths := readList(content)
	for _, place := range slices.Backward(paths) { // the last may stand in the first
		err = errors.Join(err, sweepPoint(place))
	}
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// sweepPoint removes a mount point, if it is one that nobody needs.
func sweepPoint(path string) error {
	parent, err := openParent(path)
	if err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM {
		return gone(path, err)
	}
	if err != nil {
		return nil // there is none of ours where we can't get to
	}
	m, _, err := find(parent, filepath.Base(path))
	unix.Close(parent)
	switch err {
	case nil:
	case unix.EWOULDBLOCK, unix.EEXIST:
		return nil // somebody else is about to remove it
	case errForeign, errLink:
		return nil // it is not ours
	default:
		return gone(path, err)
	}
	if m == nil {
		return nil // nor is that
	}
	defer m.close()
	return m.remove(path)
}

// SweepLeft sweeps up after programs of this user that are dead, some time ago
// perhaps. What fails the next one tries again.
func SweepLeft() {
	folder, err := tree.RuntimeFolder()
	if err != nil {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(folder, listPrefix+"*"))
	for _, path := range paths {
		file, err := openList(path)
		if err != nil {
			continue
		}
		if lockList(file) == nil {
			_ = sweepList(file, path)
		}
		file.Close()
	}
}
