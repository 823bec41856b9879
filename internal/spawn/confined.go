package spawn

import (
	"sync"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
)

// SetupFailure is why a confined program has not been executed: what it was to be
// confined by could not be had.
type SetupFailure struct {
	// Stage is what has failed, in words, as "mounts" or "seccomp".
	Stage string
	// Message says what was wrong, with what, and what to do.
	Message string
}

// setupFailed is the exit code of a process whose set-up has failed.
const setupFailed = 1

// SetupFailure returns why the program has not been executed, or nil if it has
// been. Such a process exits with the code 1 and has no output. It is known when
// the process is adopted.
func (p *Process) SetupFailure() *SetupFailure {
	if p.confined == nil {
		return nil
	}
	return p.confined.failed
}

// Denials returns what the process has tried and was not let do, as far as that
// is seen. Nothing is added once [Events].Exited has been called.
func (p *Process) Denials() []plan.Denial {
	if p.confined == nil {
		return nil
	}
	return p.confined.denied()
}

// confined is what there is besides of a process that is confined: the helper,
// which is the leader of the tree, and what it says. The program is its child.
type confined struct {
	isolated bool          // the helper's end is that of all, as the kernel sees to it
	failed   *SetupFailure // set before the process is adopted
	control  *control
	silent   chan struct{} // closed when the helper says nothing any more

	mu      sync.Mutex
	ended   *plan.End      // guarded by mu; how the program has ended, if that is known
	kinds   map[denial]int // guarded by mu; where in denials
	denials []plan.Denial  // guarded by mu
}

// denial is what tells one from another.
type denial struct{ what, path, address string }

// hear takes what the helper says while the program runs.
func (c *confined) hear(m plan.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case plan.End:
		c.ended = &m
	case plan.Denial:
		kind := denial{m.What, m.Path, m.Address}
		at, known := c.kinds[kind]
		switch {
		case known:
			c.denials[at].Count += m.Count
		case len(c.denials) < limits.Denials:
			if c.kinds == nil {
				c.kinds = make(map[denial]int)
			}
			c.kinds[kind] = len(c.denials)
			c.denials = append(c.denials, m)
		}
	}
}

func (c *confined) denied() []plan.Denial {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]plan.Denial(nil), c.denials...)
}

// ending turns the end of the helper into that of the program. It waits for what
// the helper has said last.
func (c *confined) ending(helper ending) ending {
	c.control.hurry()
	<-c.silent
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failed != nil:
		helper.code, helper.signaled = setupFailed, false
	case c.ended != nil && !helper.signaled:
		helper.code, helper.signaled = c.ended.Code, c.ended.Signal != 0
	}
	return helper
}
