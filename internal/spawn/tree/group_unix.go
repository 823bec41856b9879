//go:build unix

package tree

import (
	"sync"
	"syscall"
)

// groups reach the process groups of the leaders.
type groups struct{}

func openGroup(Config) (method, []string, error) {
	return groups{}, []string{"a process that has left its process group is not found"}, nil
}

func (groups) place() (place, error)         { return &groupPlace{}, nil }
func (groups) sift(trees []*Tree) []*Tree    { return siftEach(trees) }
func (groups) killAll(trees []*Tree) []*Tree { return killEach(trees) }
func (groups) subreaper() bool               { return false }
func (groups) close() error                  { return nil }

// groupPlace is a process group. Once the leader has been reaped its id may
// belong to others: then there is nothing that can be done about who is left,
// except by those who have seen them before.
type groupPlace struct {
	mu  sync.Mutex
	pid int // guarded by mu; 0 before the start and once the leader has been reaped
}

func (*groupPlace) enter(*syscall.SysProcAttr) error { return nil }
func (*groupPlace) leave()                           {}
func (*groupPlace) broken(error) bool                { return false }
func (*groupPlace) release()                         {}

func (p *groupPlace) started(pid int) error {
	p.set(pid)
	return nil
}

func (p *groupPlace) reaping() { p.set(0) }

// fragile: see groupPlace.
func (p *groupPlace) fragile() bool { return p.number() == 0 }

// number returns the number of the group, or 0 if it may be others'.
func (p *groupPlace) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

func (p *groupPlace) set(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
}

func (p *groupPlace) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	return true
}

func (p *groupPlace) empty() bool { return p.number() == 0 }
