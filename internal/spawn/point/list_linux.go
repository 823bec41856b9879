package point

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// list is a file in the runtime folder with the places where this program may have
// made mount points: a line for each, quoted. It is locked as long as the program
// lives.
type list struct {
	registrar tree.Registrar
	warn      func(what string, err error)

	mu     sync.Mutex     // held while it is written to
	file   *os.File       // guarded by mu; nil before the first place, and if there can't be one
	failed bool           // guarded by mu; it has been said that there can't be one
	places map[string]int // guarded by mu; how many need each
	size   int            // guarded by mu; of the file
	live   int            // guarded by mu; how much of that is about places
}

// listPrefix is what the names of lists begin with.
const listPrefix = "points-"

// slack is how much of the file may be out of date before it is written anew. What
// is out of date does no harm, as nothing of ours is found there; and to cut a file
// off can take longer than all else, where that is passed on to the disk (discard).
const slack = 64 << 10

func newList(registrar tree.Registrar, warn func(what string, err error)) *list {
	return &list{registrar: registrar, warn: warn, places: make(map[string]int)}
}

func record(path string) string { return recordPrefix + strconv.QuoteToASCII(path) }

func line(path string) []byte { return append(strconv.AppendQuoteToASCII(nil, path), '\n') }

// add puts places on the list, before anything is made there.
func (l *list) add(paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b []byte
	for _, path := range paths {
		if l.places[path]++; l.places[path] == 1 {
			b = append(b, line(path)...)
		}
	}
	l.live += len(b)
	if len(b) > 0 && l.open() {
		l.write(b, l.size)
	}
}

// remove takes places off the list, when nothing of ours is there any more.
func (l *list) remove(paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range paths {
		if l.places[path]--; l.places[path] == 0 {
			delete(l.places, path)
			l.live -= len(line(path))
		}
	}
	if l.file == nil || l.size-l.live < slack {
		return
	}
	var b []byte
	for path := range l.places {
		b = append(b, line(path)...)
	}
	l.write(b, 0)
	// What is cut off here, should we be killed before it is, says nothing wrong.
	_ = l.file.Truncate(int64(len(b)))
	l.size = len(b)
}

// write writes to a place in the file. The caller holds the lock.
func (l *list) write(b []byte, at int) {
	if _, err := l.file.WriteAt(b, int64(at)); err != nil {
		l.complain(err)
	}
	l.size = at + len(b)
}

// complain says once that mount points may stay. The caller holds the lock.
func (l *list) complain(err error) {
	if !l.failed {
		l.warn("mount points can't be listed: should this program be killed, some may stay", err)
	}
	l.failed = true
}

// open makes the file unless it is there. The caller holds the lock.
func (l *list) open() bool {
	if l.file != nil || l.failed {
		return l.file != nil
	}
	folder, err := tree.MakeRuntimeFolder()
	if err == nil {
		path := filepath.Join(folder, listPrefix+tree.RandomName())
		l.registrar.Add(record(path))
		if l.file, err = makeList(path); err != nil {
			l.registrar.Remove(record(path))
		}
	}
	if err != nil {
		l.complain(err)
	}
	return err == nil
}

func makeList(path string) (*os.File, error) {
	const attempts = 100 // somebody who sweeps up may be faster than our lock, and removes it
	for range attempts {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
		if errors.Is(err, os.ErrExist) {
			<-time.After(time.Millisecond)
			continue
		}
		if err != nil {
			return nil, err
		}
		err = lockList(file)
		if err == nil {
			return file, nil
		}
		file.Close()
		if err != unix.ENOENT && err != unix.EWOULDBLOCK {
			return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, os.Remove(path))
		}
	}
	return nil, fmt.Errorf("locking %s: others remove it each time", path)
}

// lockList takes the lock of an open list, unless its owner has it. It fails with
// ENOENT if the list has been removed.
func lockList(file *os.File) error {
	fd := int(file.Fd())
	if err := flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Nlink == 0 {
		return unix.ENOENT
	}
	return nil
}

// close removes the file. If something is left it stays, for the next program.
func (l *list) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	if path := l.file.Name(); len(l.places) == 0 {
		_ = os.Remove(path)
		l.registrar.Remove(record(path))
	}
	l.file.Close()
	l.file, l.failed = nil, true
}

// readList returns the places on a list. What makes no sense has been cut off.
func readList(content []byte) (paths []string) {
	for l := range bytes.Lines(content) {
		path, err := strconv.Unquote(string(bytes.TrimSuffix(l, []byte{'\n'})))
		if err == nil && filepath.IsAbs(path) && filepath.Clean(path) == path {
			paths = append(paths, path)
		}
	}
	return paths
}
