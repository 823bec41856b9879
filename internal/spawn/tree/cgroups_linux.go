package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// version is what differs between the versions of control groups.
type version interface {
	means() Means
	// fileSystem returns the type that statfs has for it.
	fileSystem() int64
	// open opens what is needed to start a process in a control group.
	open(path string) (fd int, err error)
	// kill kills the members of a control group, and of those in it, until
	// nobody is left or the deadline has come. It reports whether nobody is.
	kill(path string, deadline time.Time) bool
	// state tells whether a control group has members, and whether it is as it
	// was when it was made otherwise.
	state(l *leaf) (empty, intact bool)
}

// cgroups are the control groups of one keeper: a top directory, and in it a
// leaf for each tree. A leaf that is empty serves another tree: to make one
// takes as long as a tenth of a start.
type cgroups struct {
	version   version
	parent    string
	registrar Registrar

	mu     sync.Mutex
	top    string             // guarded by mu
	lock   int                // guarded by mu; on the top directory
	named  uint64             // guarded by mu; leaves that have been given a name
	leaves map[*leaf]struct{} // guarded by mu
	idle   []*leaf            // guarded by mu; the one used last comes last
	closed bool               // guarded by mu
}

// maxIdle bounds the leaves that are kept for later; each has a descriptor.
const maxIdle = 64

// leaf is the control group of a tree.
type leaf struct {
	path string
	fd   int // see version.open
}

var errClosed = errors.New("the keeper has been closed")

// openCgroups makes a top directory.
func openCgroups(v version, parent string, registrar Registrar) (*cgroups, error) {
	c := &cgroups{version: v, parent: parent, registrar: registrar, leaves: make(map[*leaf]struct{})}
	var err error
	if c.top, c.lock, err = makeTop(parent); err != nil {
		return nil, err
	}
	registrar.Add(formatRecord(v.means(), c.top))
	return c, nil
}

// take returns a leaf without members.
func (c *cgroups) take() (*leaf, error) {
	for try := 0; ; try++ {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		if n := len(c.idle); n > 0 {
			l := c.idle[n-1]
			c.idle = c.idle[:n-1]
			c.mu.Unlock()
			return l, nil
		}
		c.named++
		top, path := c.top, filepath.Join(c.top, strconv.FormatUint(c.named, 10))
		c.mu.Unlock()

		l, err := c.grow(path)
		if try > 0 || !errors.Is(err, os.ErrNotExist) {
			return l, err
		}
		// Somebody has removed the top directory.
		if err := c.replaceTop(top); err != nil {
			return nil, err
		}
	}
}

// grow makes a leaf.
func (c *cgroups) grow(path string) (*leaf, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	fd, err := c.version.open(path)
	if err != nil {
		_ = unix.Rmdir(path)
		return nil, err
	}
	l := &leaf{path: path, fd: fd}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaves[l] = struct{}{}
	return l, nil
}

// replaceTop makes a new top directory in place of one that is gone.
func (c *cgroups) replaceTop(gone string) error {
	top, lock, err := makeTop(c.parent)
	if err != nil {
		return err
	}
	means := c.version.means()
	c.registrar.Add(formatRecord(means, top))
	c.mu.Lock()
	replace := c.top == gone && !c.closed
	if replace {
		c.top = top
		c.lock, lock = lock, c.lock
	}
	c.mu.Unlock()
	if !replace {
		// Somebody else has been faster.
		gone = top
		_ = unix.Rmdir(top)
	}
	unix.Close(lock)
	c.registrar.Remove(formatRecord(means, gone))
	return nil
}

// put takes back a leaf that has no members; intact tells whether it may serve
// another tree.
func (c *cgroups) put(l *leaf, intact bool) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return // close has seen to it
	}
	if intact && len(c.idle) < maxIdle {
		c.idle = append(c.idle, l)
		c.mu.Unlock()
		return
	}
	delete(c.leaves, l)
	unix.Close(l.fd)
	c.mu.Unlock()
	// What can't be removed yet is when the keeper closes.
	_ = removeCgroup(l.path, time.Now())
}

// weed puts the leaves that are kept to the test, after one has failed it.
func (c *cgroups) weed() {
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, l := range idle {
		empty, intact := c.version.state(l)
		c.put(l, empty && intact)
	}
}

// sift implements [method].
func (*cgroups) sift(trees []*Tree) []*Tree { return siftEach(trees) }

// subreaper implements [method].
func (*cgroups) subreaper() bool { return false }

// killAll implements [method].
func (*cgroups) killAll(trees []*Tree) []*Tree { return killEach(trees) }

// close implements [method].
func (c *cgroups) close() error {
	c.mu.Lock()
	c.closed = true
	for l := range c.leaves {
		unix.Close(l.fd)
	}
	clear(c.leaves)
	c.idle = nil
	top, lock := c.top, c.lock
	c.mu.Unlock()
	err := removeTop(c.version, top)
	unix.Close(lock)
	if err == nil {
		c.registrar.Remove(formatRecord(c.version.means(), top))
	}
	return err
}
