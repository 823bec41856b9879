package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func (r *rig) terminate(id string, graceMs uint64) PendingTermination {
	r.Helper()
	pending, err := r.table.TerminateTree(
		&protocol.TerminateTreeParams{ProcessID: id, GraceMs: graceMs}, protocol.ReasonTerminated)
	if err != nil {
		r.Fatal(err)
	}
	return pending
}

// wantKilled checks the outcome of a termination and how long it took.
func (r *rig) wantKilled(pending PendingTermination, killed []int, took time.Duration) {
	r.Helper()
	began := time.Now()
	result, err := pending.Wait(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if diff := cmp.Diff(&protocol.TerminateTreeResult{Killed: killed, Survivors: []int{}}, result); diff != "" {
		r.Error(diff)
	}
	if since := time.Since(began); since != took {
		r.Errorf("it took %v, want %v", since, took)
	}
}

func TestTerminateTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("polite")
		r.wantKilled(r.terminate("polite", 5000), []int{4711}, 0)
		r.wantReason("polite", 143, protocol.ReasonTerminated)

		r.start("stubborn").stubborn = true
		r.wantKilled(r.terminate("stubborn", 5000), []int{4711}, 5*time.Second)
		r.wantReason("stubborn", 137, protocol.ReasonTerminated)

		r.start("at once")
		r.wantKilled(r.terminate("at once", 0), []int{4711}, 0)
		synctest.Wait()
		r.wantKilled(r.terminate("at once", 5000), []int{}, 0) // it has closed
	})
}

// TestTerminateTreeHurry: of several graces the shortest counts, and all get the
// outcome.
func TestTerminateTreeHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.stubborn = true
		first := r.terminate("p", 3_600_000)
		time.Sleep(time.Second)
		second := r.terminate("p", 2000)
		third := r.terminate("p", 100_000)
		r.wantKilled(third, []int{4711}, 2*time.Second)
		r.wantKilled(first, []int{4711}, 0)
		r.wantKilled(second, []int{4711}, 0)
		if len(child.graces) != 1 {
			t.Errorf("the child was terminated %d times", len(child.graces))
		}
	})
}

// TestTerminateTreeCrowded: only so many wait for the same; who is in a hurry is
// never refused.
func TestTerminateTreeCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("p").stubborn = true
		var all []PendingTermination
		for range limits.TerminationWaiters {
			all = append(all, r.terminate("p", 3_600_000))
		}
		_, err := r.table.TerminateTree(&protocol.TerminateTreeParams{ProcessID: "p", GraceMs: 1}, "")
		wantError(t, err, protocol.CodeInvalidRequest, "process p is being terminated, and 16 requests wait for that already: "+
			"wait for one of them, or ask with a graceMs of 0")
		for _, pending := range append(all, r.terminate("p", 0)) {
			r.wantKilled(pending, []int{4711}, 0)
		}
	})
}

// TestTerminateTreeGoesOn: a client that is gone does not call it off.
func TestTerminateTreeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		child := r.start("p")
		child.stubborn = true
		pending := r.terminate("p", 1000)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := pending.Wait(ctx); !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		if !isKilled(child) {
			t.Error("not killed")
		}
	})
}

// TestTerminateTreeClose: the end of a table does not wait for a grace.
func TestTerminateTreeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("p").stubborn = true
		r.terminate("p", 1000)
		began := time.Now()
		r.table.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTerminateTreeStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.launcher.gate = make(chan struct{})
		s, err := r.table.Start(&protocol.StartParams{ProcessID: "p"})
		if err != nil {
			t.Fatal(err)
		}
		done := run(s)
		synctest.Wait()
		r.wantKilled(r.terminate("p", 1000), []int{}, 0)
		wantError(t, <-done, protocol.CodeInvalidRequest, "process p start was cancelled")
	})
}

func TestTerminateTreeRefused(t *testing.T) {
	r := newRig(t)
	_, err := r.table.TerminateTree(&protocol.TerminateTreeParams{ProcessID: "p"}, "")
	wantError(t, err, protocol.CodeInvalidRequest, "unknown process id p")
	_, err = r.table.TerminateTree(&protocol.TerminateTreeParams{ProcessID: "p", GraceMs: 3_600_001}, "")
	wantError(t, err, protocol.CodeInvalidParams, "graceMs is 3600001: at most 3600000 are allowed")
}
