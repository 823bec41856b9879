package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// home is the control group that this program has been moved to, out of its
// parent: groups in the parent have controllers only while no process is in the
// parent itself.
type home struct {
	parent, path string
	lock         int
}

// homeMeans is what records call it.
const homeMeans Means = "home"

// movePasses bounds how often is looked for processes that have been started
// while others were moved.
const movePasses = 10

// moveIn moves this program, and those that it has started and that are in its
// control group, to a group of their own. If others are there it fails.
func moveIn(parent string, registrar Registrar) (*home, error) {
	members, err := readMembers(parent)
	if err != nil {
		return nil, err
	}
	for _, pid := range members {
		if !descends(pid, os.Getpid()) {
			return nil, fmt.Errorf("processes of others are in %s itself (one is %d), so that its groups get no controllers", parent, pid)
		}
	}
	h := &home{parent: parent}
	if h.path, h.lock, err = makeTop(parent); err != nil {
		return nil, err
	}
	registrar.Add(formatRecord(homeMeans, h.path))
	for range movePasses {
		if members, err = readMembers(parent); err != nil || len(members) == 0 {
			break
		}
		for _, pid := range members {
			err = errors.Join(err, moveTo(h.path, pid))
		}
	}
	if err == nil && len(members) > 0 {
		err = errors.New("processes are started there all the time")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("moving this program from %s to %s: %w", parent, h.path, err), h.moveOut(registrar))
	}
	return h, nil
}

// moveOut moves everybody back.
func (h *home) moveOut(registrar Registrar) error {
	err := vacate(h.path)
	unix.Close(h.lock)
	if err == nil {
		registrar.Remove(formatRecord(homeMeans, h.path))
	}
	return err
}

// vacate moves the processes of a home to its parent, and removes it.
func vacate(path string) error {
	parent := filepath.Dir(path)
	for _, c := range controllers {
		if lists(parent+"/cgroup.subtree_control", c.name) {
			if err := writeFile(parent+"/cgroup.subtree_control", "-"+c.name); err != nil {
				return err
			}
		}
	}
	members, err := readMembers(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, pid := range members {
		err = errors.Join(err, moveTo(parent, pid))
	}
	if err != nil {
		return err
	}
	return removeCgroup(path, time.Now().Add(killTime/4))
}

// sweepHome vacates a home whose owner is dead or dying.
func sweepHome(path string) error {
	lock, err := lockLeft(version2{}, path)
	if lock < 0 {
		return err
	}
	defer unix.Close(lock)
	return vacate(path)
}

// moveTo moves a process, unless it has ended.
func moveTo(path string, pid int) error {
	err := writeFile(path+"/cgroup.procs", strconv.Itoa(pid))
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// descends tells whether a process is another one or has been started by it or
// its descendants.
func descends(pid, from int) bool {
	const deepest = 1000
	for range deepest {
		if pid == from {
			return true
		}
		p, _, err := look(pid)
		if err != nil || p.parent <= 1 {
			return err != nil // it has ended
		}
		pid = p.parent
	}
	return false
}

func parentOf(path string) string { return filepath.Dir(path) }
