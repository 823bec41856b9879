package spawn

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// spareThreads is how many threads there are to work with when the system gives
// no more: enough for what usually waits for it at the same time.
const spareThreads = 8

// trees opens what holds trees together when it is first needed.
type trees struct {
	config Config
	log    *slog.Logger
	system *system
	ready  atomic.Pointer[tree.Keeper] // nil before

	mu        sync.Mutex     // held while it is being opened, for which others wait
	err       error          // guarded by mu; why it can't be
	registrar tree.Registrar // guarded by mu
	asked     bool           // guarded by mu; for the registrar
}

// explicit tells whether certain means have been asked for.
func (t *trees) explicit() bool { return t.config.Means != "" && t.config.Means != tree.Auto }

// keeper returns the keeper, which it opens first if need be.
func (t *trees) keeper() (*tree.Keeper, error) {
	if k := t.opened(); k != nil {
		return k, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.opened(); k != nil || t.err != nil {
		return k, t.err
	}
	if !t.asked {
		tree.SpareThreads(spareThreads)
		if t.config.Registrar != nil {
			t.registrar = t.config.Registrar()
		}
	}
	t.asked = true
	k, err := tree.Open(tree.Config{
		Means:     t.config.Means,
		Registrar: t.registrar,
		Subreaper: t.config.OwnsProgram,
		Relocate:  t.config.OwnsProgram,
	})
	if _, shortage := errors.AsType[syscall.Errno](err); shortage {
		return nil, treeError(err)
	}
	if err != nil {
		t.err = &Error{Kind: Failed, Err: err}
		return nil, t.err
	}
	t.log.Info("trees of processes are held together", "means", string(k.Means()), "remarks", k.Why())
	if t.config.OwnsProgram {
		t.system.owned(k)
	}
	t.ready.Store(k)
	return k, nil
}

// opened returns the keeper, or nil before the first start.
func (t *trees) opened() *tree.Keeper { return t.ready.Load() }

// close kills and removes what is left. No start is in progress.
func (t *trees) close() {
	k := t.opened()
	if k == nil {
		return
	}
	if err := k.Close(); err != nil {
		t.log.Error("removing what has held processes together", "error", err)
	}
}

// treeError is for a tree that can't be made.
func treeError(err error) error {
	return &Error{Kind: Failed, Err: fmt.Errorf("making room for a tree of processes: %w", asOSError(err))}
}
