// Package warden has what processes need removed also when the daemon is killed
// and can't do it. The daemon keeps a ledger of it (cgroups, state files, mount
// points) and tells each entry to a process of its own, the warden, which does
// nothing until the daemon is gone: then it removes what is left, and ends. How
// it does that is in package helper.
//
// # Concurrency
//
// Methods of [Warden] may be called by any goroutine at any time. None of them
// waits for the warden process, except Close, for a bounded time. What is told
// is in the pipe when Add or Remove returns, and so comes through however the
// daemon ends; only while the warden is so far behind that the pipe is full, or
// is being replaced, entries wait in the daemon. A warden that takes nothing
// for some seconds is killed. One that has died, of whatever, is replaced and
// told the whole ledger.
//
// A running warden costs the daemon one goroutine, two descriptors and no
// thread. Nothing of it is left when Close has returned.
package warden

import (
	"log/slog"
	"time"

	"github.com/airlock-exec/airlock/internal/helper"
)

// Config says how a warden is made.
type Config struct {
	// Logger hears of wardens that die; nil means that nobody does.
	Logger *slog.Logger
	// Command returns how to execute the warden; nil means [helper.Warden].
	Command func() (path string, argv []string, err error)
}

func (c *Config) setDefaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Command == nil {
		c.Command = helper.Warden
	}
}

// Bounds of how wardens are replaced.
const (
	// quickDeath is how short a life counts as one.
	quickDeath = time.Second
	// firstDelay comes before the replacement of the second warden in a row
	// that has died quickly, and doubles with each further one. The first is
	// replaced at once.
	firstDelay = 50 * time.Millisecond
	// quickDeaths is how many in a row show that something is amiss which
	// haste does not mend; from then on one is tried every slowDelay.
	quickDeaths = 5
	slowDelay   = 10 * time.Second
)

// pace decides how long to wait before a warden is replaced.
type pace struct{ quick int }

// next returns the delay after a warden has lived that long.
func (p *pace) next(lived time.Duration) time.Duration {
	if lived >= quickDeath {
		p.quick = 0
		return 0
	}
	p.quick++
	switch {
	case p.quick == 1:
		return 0
	case p.quick <= quickDeaths:
		return firstDelay << (p.quick - 2)
	default:
		return slowDelay
	}
}
