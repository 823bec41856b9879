package spawn

import (
	"context"
	"slices"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Terminate ends the process and all that it has started: each of them gets
// SIGTERM, those that are stopped are woken. Those that are there when the grace
// is over, or ctx is done, are killed as by [Process.Kill]; with a grace of 0
// that is at once. It returns when all are dead or have withstood for two
// seconds. Meanwhile the process does not close, unless Kill is called, which
// ends the grace.
//
// killed are the ids of the members that have been seen and are dead, survivors
// those of the others, in rising order, at most 65,536 of each. Of a process that
// has closed there are none. Where the system reaps the leader at its exit (not on
// Linux), a group is lost then, and of those that it held only those that have been
// seen before are waited for and killed.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) (killed, survivors []int) {
	if !p.hold(false) {
		return nil, nil
	}
	defer p.let()
	seen := sightings{}
	seen.look(p.tree)
	if grace > 0 && tree.CanAsk {
		p.ask(seen)
		if !p.awaitEnd(ctx, grace, seen) {
			seen.look(p.tree)
		}
	}
	deadline := time.Now().Add(deathPatience)
	if felled := p.killNow(); felled != nil {
		<-felled
	}
	if p.tree.Fragile() {
		// Those whose parents have died by our signal may have been lost.
		for m := range seen {
			m.Kill()
		}
	}
	return seen.outcome(p.tree, deadline)
}

// sightings are the members that have been seen.
type sightings map[tree.Member]struct{}

// look adds the members of a tree and returns those that are new.
func (s sightings) look(t *tree.Tree) (fresh []tree.Member) {
	return s.add(t.Members())
}

func (s sightings) add(l tree.Listing) (fresh []tree.Member) {
	for _, m := range l.Members {
		if _, known := s[m]; !known {
			s[m] = struct{}{}
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// alive tells whether one of them is.
func (s sightings) alive() bool {
	for m := range s {
		if m.Alive() {
			return true
		}
	}
	return false
}

// askPasses bounds how often is looked for members that have been missed.
const askPasses = 10

// ask asks all members to end. Some may have been started while the others were
// listed, so that is done again until there are no more of these. Those that are
// started later are left alone: they may be what a member needs to clean up.
func (p *Process) ask(seen sightings) {
	began := tree.Clock()
	ask := func(m tree.Member) {
		// The helper would pass it on to those that have it already, and ends when
		// the program has.
		if p.confined == nil || m.PID != p.child.pid {
			m.Terminate()
		}
	}
	for m := range seen {
		ask(m)
	}
	for range askPasses {
		missed := false
		for _, m := range seen.look(p.tree) {
			if m.Before(began) {
				ask(m)
				missed = true
			}
		}
		if !missed {
			return
		}
	}
}

// Pauses between looks at those that have been seen.
const (
	firstLook = time.Millisecond
	lastLook  = 50 * time.Millisecond
)

// awaitEnd waits until the tree has no living members, which it reports, or until
// the grace is over, ctx is done or the process is being killed. The whole tree,
// which it may be costly to look at, is asked for only when those that have been
// seen are dead.
func (p *Process) awaitEnd(ctx context.Context, grace time.Duration, seen sightings) (ended bool) {
	over := time.NewTimer(grace)
	defer over.Stop()
	await := func(event <-chan struct{}, paused <-chan time.Time) bool {
		select {
		case <-event:
		case <-paused:
		case <-over.C:
			return false
		case <-ctx.Done():
			return false
		case <-p.doomed:
			return false
		}
		return true
	}
	exited := p.exited // wakes once: the leader is the last one, mostly
	urgent := true
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		if !seen.alive() {
			look := p.tree.Look(urgent)
			if !await(look.Done(), nil) {
				look.Cancel()
				return false
			}
			urgent = false
			l := look.Listing()
			if l.Complete && len(l.Members) == 0 {
				return true
			}
			seen.add(l)
		}
		if !await(exited, time.After(pause)) {
			return false
		}
		if exited != nil && p.hasExited() {
			exited, pause = nil, firstLook
		}
	}
}

// hasExited tells whether the exit has been noticed.
func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// deathPatience is how long members are given to die; see [tree.Tree.Kill].
const deathPatience = 2 * time.Second

// outcome tells what has become of those that have been seen, once they are dead
// or at the deadline.
func (s sightings) outcome(t *tree.Tree, deadline time.Time) (killed, survivors []int) {
	late := false
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		killed, survivors = killed[:0], survivors[:0]
		for m := range s {
			if m.Alive() {
				survivors = append(survivors, m.PID)
			} else {
				killed = append(killed, m.PID)
			}
		}
		if len(survivors) == 0 || late {
			break
		}
		if late = !time.Now().Before(deadline); late {
			s.look(t) // who withstands may have been missed before
			continue
		}
		<-time.After(pause)
	}
	return told(killed), told(survivors)
}

func told(pids []int) []int {
	slices.Sort(pids)
	pids = slices.Compact(pids)
	return pids[:min(len(pids), limits.TerminatedPIDs)]
}
