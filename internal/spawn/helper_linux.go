package spawn

import (
	"errors"
	"fmt"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// helperEnv is all of the helper's environment: that of the program is none of its
// business. See package warden.
var helperEnv = []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0"}

// newTree makes a tree that is held within limits; if apart, all but its leader.
func newTree(keeper *tree.Keeper, l Limits, apart bool) (*tree.Tree, error) {
	t, err := keeper.NewBounded(tree.Bounds{MemoryBytes: l.MemoryBytes, Processes: l.Processes, Apart: apart})
	if refused, ok := errors.AsType[*tree.UnenforceableError](err); ok {
		return nil, errNoGroup(refused)
	}
	if err != nil {
		return nil, treeError(err)
	}
	return t, nil
}

// watch kills a helper that does not execute the program in time, or that nobody
// waits for any more, and then calls interrupt, for who waits for its answer. The
// caller calls finish when it has answered, or has ended: it returns why the helper
// has been killed, if it has.
func watch(c child, stop <-chan struct{}, interrupt func()) (finish func() error) {
	done, over := make(chan struct{}), make(chan error, 1)
	go func() {
		late := time.NewTimer(limits.SetupTimeout)
		defer late.Stop()
		var err error
		select {
		case <-done:
			over <- nil
			return
		case <-stop:
			err = errStopped
		case <-late.C:
			err = &Error{Kind: Failed, Err: fmt.Errorf("the helper has not executed the program within %v", limits.SetupTimeout)}
		}
		c.kill()
		interrupt()
		over <- err
	}()
	return func() error {
		close(done)
		return <-over
	}
}

// discard ends a helper that has not executed the program.
func discard(c child, t *tree.Tree) {
	c.kill()
	_, _ = c.status(0)
	t.Reaping()
	c.reap()
	c.release()
	if t.Kill() { // otherwise the keeper sees to it
		t.Release()
	}
}
