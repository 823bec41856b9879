package tree

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var errAlive = errors.New("processes do not die")

// sweepAll kills and removes what dead programs of this user have left behind,
// some time ago perhaps, by whatever means.
func sweepAll() {
	if parent, err := ownCgroup(""); err == nil {
		sweepStale(version2{}, parent)
	}
	if parent, err := ownCgroup("freezer"); err == nil {
		sweepStale(version1{}, parent)
	}
	for _, c := range controllers {
		if parent, err := ownCgroup(c.name); err == nil {
			sweepStale(controller1{}, parent)
		}
	}
	if folder, err := RuntimeFolder(); err == nil {
		sweepLedgers(folder)
	}
}

func sweepLedgers(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, ledgerPrefix+"*"))
	for _, path := range paths {
		// If it fails the next one tries again.
		_ = sweepLedger(path, time.Now(), 0)
	}
}

// sweepLedger kills what is left of the trees in a ledger and removes it, once
// its owner is dead, which it waits for until the deadline. The numbers of the
// leaders have not become others' until the tick since.
func sweepLedger(path string, deadline time.Time, since uint64) error {
	if !strings.HasPrefix(filepath.Base(path), ledgerPrefix) {
		return errors.New("it is no ledger of ours")
	}
	if err := private(filepath.Dir(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	nameless := err == unix.ENOENT
	if nameless {
		fd, err = openHeld(path, err)
	}
	if err == unix.ENOENT {
		return nil // somebody else has swept
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	p := pauses{deadline: deadline}
	err = lockLedger(fd)
	for err == errOwned && p.next() {
		err = lockLedger(fd)
	}
	if err == unix.ENOENT && !nameless {
		return nil // somebody else has swept
	}
	if err != nil && err != unix.ENOENT {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	name, targets, err := readLedger(content, since)
	if err != nil {
		return err
	}
	if !killTargets(name, targets) {
		return errAlive
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// killTargets kills the members of trees whose keeper is dead. Their marks count
// only if no other keeper has been given them since.
func killTargets(markerName string, targets []target) (dead bool) {
	if len(targets) == 0 {
		return true
	}
	m := namedMarker(markerName)
	claims := map[uint32]int{} // by block
	defer func() {
		for _, fd := range claims {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}()
	quarries := make([]*quarry, len(targets))
	for i, t := range targets {
		if m == nil {
			t.mark = 0
		} else if t.mark != 0 {
			block := m.blockOf(t.mark)
			if _, tried := claims[block]; !tried {
				claims[block], _ = m.claim(block)
			}
			if claims[block] < 0 {
				t.mark = 0
			}
		}
		quarries[i] = &quarry{target: func() target { return t }, kill: true}
	}
	fell(m, quarries, time.Now().Add(killTime))
	return len(remaining(quarries)) == 0
}

// namedMarker returns the marker of that name, to read with, or nil.
func namedMarker(name string) (found *marker) {
	offMainThread(func() {
		for _, open := range markers {
			if m := open(); m != nil && m.name == name {
				found = m
				return
			}
		}
	})
	return found
}
