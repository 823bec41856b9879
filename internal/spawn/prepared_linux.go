package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// readyHelper is a helper that has no task yet, as the leader of a tree.
type readyHelper struct {
	child   child
	tree    *tree.Tree
	control *control
	early   []plan.Denial // said before the answer
}

// discard ends it, with all that it has started.
func (h *readyHelper) discard() {
	h.control.close()
	discard(h.child, h.tree)
}

// helperKind tells helpers apart before they have a task.
type helperKind struct {
	isolated bool // in namespaces of its own
	offline  bool // also of the network
}

func kindOf(c *plan.Confinement) helperKind {
	return helperKind{isolated: c.Isolated, offline: c.Isolated && c.Offline}
}

// startHelper starts a helper.
func (sys *system) startHelper(kind helperKind, keeper *tree.Keeper, l Limits) (*readyHelper, error) {
	path, argv, err := sys.sandbox()
	if err != nil {
		return nil, &Error{Kind: Failed, Err: fmt.Errorf("commands can't be confined: %w", err)}
	}
	control, theirs, err := newControl()
	if err != nil {
		return nil, streamsError(err)
	}
	defer unix.Close(theirs)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		control.close()
		return nil, streamsError(err)
	}
	defer null.Close()
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   helperEnv,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), plan.ControlFD: uintptr(theirs)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if file := sys.lifeline.Load(); file != nil {
		fd, err := share(file)
		if err != nil {
			control.close()
			return nil, streamsError(err)
		}
		defer unix.Close(fd)
		attr.Files = append(attr.Files, uintptr(fd)) // plan.LifelineFD
	}
	if kind.isolated {
		isolate(attr.Sys, kind.offline)
	}
	forked := sys.orphans.forking()
	c, t, err := sys.plantHelper(keeper, l, path, argv, attr)
	forked(&c)
	if err != nil {
		control.close()
		return nil, err
	}
	return &readyHelper{child: c, tree: t, control: control}, nil
}

// plantHelper forks the helper as a tree of its own.
func (sys *system) plantHelper(
	keeper *tree.Keeper, l Limits, path string, argv []string, attr *syscall.ProcAttr,
) (child, *tree.Tree, error) {
	for broken := false; ; broken = true {
		t, err := newTree(keeper, l, true)
		if err != nil {
			return child{}, nil, err
		}
		c, err := sys.forkIn(t, attr.Sys, func() (child, error) { return forkExec(path, argv, attr) })
		if err == nil {
			return c, t, nil
		}
		again := !broken && t.Broken(err)
		t.Release()
		if again {
			continue
		}
		if _, told := errors.AsType[*Error](err); told || attr.Sys.Cloneflags == 0 {
			return child{}, nil, helperError(err)
		}
		return child{}, nil, &Error{Kind: Failed, Err: fmt.Errorf("making the namespaces of a sandbox: %w", asOSError(err))}
	}
}

// preparedHelpers are those that wait for a task, by kind. Only those in namespaces
// do, as these are what takes its time.
type preparedHelpers struct {
	mu     sync.Mutex                         // held by take, which does not wait
	mounts mountWatch                         // guarded by mu
	closed bool                               // guarded by mu
	pools  map[helperKind]*pool[*readyHelper] // guarded by mu
}

// take returns one, or nil. The first of a kind makes that kind being kept ready.
// A helper sees the host as it was mounted when it was made: once that has changed
// none is used any more.
func (p *preparedHelpers) take(sys *system, kind helperKind, keeper *tree.Keeper) *readyHelper {
	if !kind.isolated {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if p.mounts.changed() {
		for _, pool := range p.pools {
			pool.drop()
		}
	}
	if p.pools == nil {
		p.pools = make(map[helperKind]*pool[*readyHelper])
	}
	if p.pools[kind] == nil {
		p.pools[kind] = newPool(preparedMost(), func() (*readyHelper, error) {
			return sys.startHelper(kind, keeper, Limits{})
		}, func(h *readyHelper) bool { return !h.child.isDead() }, (*readyHelper).discard)
	}
	h, _ := p.pools[kind].take()
	return h
}

// close ends those that wait.
func (p *preparedHelpers) close() {
	p.mu.Lock()
	p.closed = true
	pools := p.pools
	p.pools = nil
	p.mounts.close()
	p.mu.Unlock()
	for _, pool := range pools {
		pool.close()
	}
}

// preparedMost bounds how many of a kind there are: they share what there may be.
func preparedMost() int {
	const kinds = 2 // with and without a network
	return max(1, limits.PreparedPerCore*runtime.NumCPU()/kinds)
}

// mountWatch tells whether something has been mounted or unmounted on the host. One
// goroutine at a time uses it.
type mountWatch struct {
	opened bool
	fd     int
}

// changed tells whether that has happened since it was called last. If that can't
// be told, it may have.
func (w *mountWatch) changed() bool {
	if !w.opened {
		w.opened = true
		var err error
		if w.fd, err = unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			w.fd = -1
		}
	}
	if w.fd < 0 {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err != nil || n > 0
}

func (w *mountWatch) close() {
	if w.opened && w.fd >= 0 {
		unix.Close(w.fd)
	}
	w.fd = -1
}
