package tree

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// seat is a tree's place in a leaf, as far as the versions have it in common.
type seat struct {
	*leaf
	owner *cgroups
	used  atomic.Bool // a process has been started
	left  atomic.Bool // when last looked at, the leaf was empty and could be used again
	odd   atomic.Bool // it can't be used again
}

//nolint:unparam // not on every system
func (s *seat) started(int) error {
	s.used.Store(true)
	return nil
}

func (*seat) reaping()      {}
func (*seat) fragile() bool { return false }

func (s *seat) kill() bool {
	// Some kernels (6.18 is one) kill what is later cloned into a control group
	// that has been killed once.
	s.odd.Store(true)
	return s.owner.version.kill(s.path, time.Now().Add(killTime))
}

func (s *seat) empty() (empty bool) {
	if !s.used.Load() {
		return true
	}
	empty, intact := s.owner.version.state(s.leaf)
	s.left.Store(empty && intact)
	return empty
}

func (s *seat) release() {
	usable := !s.odd.Load() && (!s.used.Load() || s.left.Load() || s.empty() && s.left.Load())
	s.owner.put(s.leaf, usable)
}

// probe forks in a leaf. The program that is to be executed can't exist, so that
// the error tells how far it got: no fork fails with it.
func probe(p place) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}}
	if err := p.enter(attr.Sys); err != nil {
		return err
	}
	pid, err := syscall.ForkExec("/proc/self/stat/program", []string{"probe"}, attr)
	p.leave()
	switch err {
	case syscall.ENOTDIR:
		return nil
	case nil:
		// Nobody told of a failure: the child did not live to do so. So it goes
		// on some kernels if our own control group has been killed before.
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return errors.New("it is killed at once")
	}
	return err
}
