package spawn

import (
	"context"
	"slices"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// mostTold bounds each list that Terminate returns.
const mostTold = 65536

// Terminate ends the process and all that it has started: each of them gets
// SIGTERM, those that are stopped are woken. Those that are there when the grace
// is over, or ctx is done, are killed as by [Process.Kill]; with a grace of 0
// that is at once. It returns when all are dead or have withstood for two
// seconds. Meanwhile the process does not close, unless Kill is called, which
// ends the grace.
//
// killed are the ids of the members that have been seen and are dead, survivors
// those of the others, in rising order, at most 65,536 of each. Of a process that
// has closed there are none.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) (killed, survivors []int) {
	if !p.hold(false) {
		return nil, nil
	}
	defer p.let()
	seen := census{}
	seen.look(p.tree)
	if grace > 0 && tree.CanAsk {
		p.ask(seen)
		p.awaitEnd(ctx, grace)
		seen.look(p.tree)
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

// census is the members that have been seen.
type census map[tree.Member]struct{}

// look adds the members of a tree and returns those that are new.
func (c census) look(t *tree.Tree) (fresh []tree.Member) {
	members, _ := t.Members()
	for _, m := range members {
		if _, known := c[m]; !known {
			c[m] = struct{}{}
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// askPasses bounds how often is looked for members that have been missed.
const askPasses = 10

// ask asks all members to end. Some may have been started while the others were
// listed, so that is done again until there are no more of these. Those that are
// started later are left alone: they may be what a member needs to clean up.
func (p *Process) ask(seen census) {
	began := tree.Clock()
	for m := range seen {
		m.Terminate()
	}
	for range askPasses {
		missed := false
		for _, m := range seen.look(p.tree) {
			if m.Before(began) {
				m.Terminate()
				missed = true
			}
		}
		if !missed {
			return
		}
	}
}

// Pauses between looks at a tree that is to end. A look that takes long is
// followed by a longer pause: what it costs stays within a tenth.
const (
	firstLook = time.Millisecond
	lastLook  = 50 * time.Millisecond
	lookShare = 10
)

// awaitEnd waits until the tree has no living members, the grace is over, ctx is
// done or the process is being killed.
func (p *Process) awaitEnd(ctx context.Context, grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	exited := p.exited
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		began := time.Now()
		if left, complete := p.tree.Members(); complete && len(left) == 0 {
			return
		}
		look := time.NewTimer(max(pause, lookShare*time.Since(began)))
		select {
		case <-look.C:
		case <-exited:
			exited = nil // the leader was the last one, mostly
			pause = firstLook
		case <-over.C:
			look.Stop()
			return
		case <-ctx.Done():
			look.Stop()
			return
		case <-p.doomed:
			look.Stop()
			return
		}
		look.Stop()
	}
}

// deathPatience is how long members are given to die; see [tree.Tree.Kill].
const deathPatience = 2 * time.Second

// outcome tells what has become of those that have been seen, once they are dead
// or at the deadline.
func (c census) outcome(t *tree.Tree, deadline time.Time) (killed, survivors []int) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		killed, survivors = killed[:0], survivors[:0]
		for m := range c {
			if m.Alive() {
				survivors = append(survivors, m.PID)
			} else {
				killed = append(killed, m.PID)
			}
		}
		if len(survivors) == 0 || !time.Now().Before(deadline) {
			break
		}
		<-time.After(pause)
		c.look(t) // who withstands may have been missed before
	}
	return told(killed), told(survivors)
}

func told(pids []int) []int {
	slices.Sort(pids)
	pids = slices.Compact(pids)
	return pids[:min(len(pids), mostTold)]
}
