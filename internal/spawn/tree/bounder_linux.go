package tree

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// bounder makes what holds trees within bounds. It opens a hierarchy when that is
// first needed, and looks again for what it has not found.
type bounder struct {
	registrar Registrar
	relocate  bool
	means     Means
	swaps     string // the file that lists where the system swaps to

	mu     sync.Mutex
	tops   map[string]*cgroups // guarded by mu; by parent
	home   *home               // guarded by mu; where this program has been moved to
	closed bool                // guarded by mu
}

func newBounder(config Config, means Means) *bounder {
	return &bounder{
		registrar: config.Registrar, relocate: config.Relocate, means: means, swaps: swapsFile,
		tops: make(map[string]*cgroups),
	}
}

// bind returns what holds a tree within bounds, and the tree's place if that is
// part of it.
func (b *bounder) bind(bounds Bounds) (bound, place, error) {
	made := &groupBound{mechanism: make(map[string]Mechanism)}
	for _, c := range controllers {
		value := c.value(bounds)
		if value == 0 {
			continue
		}
		g, err := b.add(made, c, value, bounds.Apart)
		if err != nil {
			made.abandon()
			return nil, nil, err
		}
		if c.name == "memory" {
			made.memory = g
		}
	}
	for _, g := range made.groups {
		if g.seat {
			p := &cgroup2Place{seat{leaf: g.leaf, owner: g.owner}}
			p.odd.Store(true) // it serves no other tree
			return made, p, nil
		}
	}
	return made, nil, nil
}

// abandon gives up what nobody has been in.
func (b *groupBound) abandon() {
	for _, g := range b.groups {
		g.owner.put(g.leaf, false)
	}
}

// add bounds what one controller bounds, by the newer version if possible.
func (b *bounder) add(to *groupBound, c controller, value uint64, apart bool) (*boundGroup, error) {
	failed := &UnenforceableError{Limit: c.limit}
	for _, m := range []Mechanism{ByCgroup2, ByCgroup1} {
		g, err := b.try(to, c, m, value, apart)
		if err == nil {
			to.mechanism[c.name] = m
			return g, nil
		}
		if isShortage(err) || errors.Is(err, errClosed) {
			return nil, err
		}
		failed.Tried = append(failed.Tried, string(m)+": "+err.Error())
	}
	return nil, failed
}

func (b *bounder) try(to *groupBound, c controller, m Mechanism, value uint64, apart bool) (*boundGroup, error) {
	top, err := b.top(c, m)
	if err != nil {
		return nil, err
	}
	g, err := to.group(top, m == ByCgroup2 && b.means == Cgroup2 && !apart)
	if err != nil {
		return nil, err
	}
	if m == ByCgroup2 {
		if err := enable(parentOf(g.path), c.name); err != nil {
			return nil, err
		}
	}
	return g, to.set(g, c, m, value, b.swaps)
}

// top returns the top directory for a controller.
func (b *bounder) top(c controller, m Mechanism) (*cgroups, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	var v version = version2{}
	parent, err := b.parent2()
	if m == ByCgroup1 {
		v = controller1{}
		parent, err = b.parent1(c.name)
	}
	if err != nil {
		return nil, err
	}
	if m == ByCgroup2 {
		if err := b.delegate(parent, c.name); err != nil {
			return nil, err
		}
	}
	if c := b.tops[parent]; c != nil {
		return c, nil
	}
	opened, err := openCgroups(v, parent, b.registrar)
	if err != nil {
		return nil, err
	}
	b.tops[parent] = opened
	return opened, nil
}

// parent2 returns the control group of version 2 in which ours are made. The
// caller holds the lock.
func (b *bounder) parent2() (string, error) {
	if b.home != nil {
		return b.home.parent, nil
	}
	return ownCgroup("")
}

func (b *bounder) parent1(name string) (string, error) {
	parent, err := ownCgroup(name)
	if err != nil || b.means != Freezer {
		return parent, err
	}
	if freezer, err := ownCgroup("freezer"); err == nil && freezer == parent {
		return "", fmt.Errorf("the controller %s is mounted together with the freezer, which holds processes together", name)
	}
	return parent, nil
}

// delegate makes a controller available in the groups in parent, which takes that
// no process is in parent itself. The caller holds the lock.
func (b *bounder) delegate(parent, name string) error {
	err := enable(parent, name)
	if !errors.Is(err, unix.EBUSY) || b.home != nil {
		return err
	}
	if !b.relocate {
		return fmt.Errorf("processes are in %s itself, so that its groups get no controllers, and this program is not moved: "+
			"it is not the executor's alone", parent)
	}
	if b.home, err = moveIn(parent, b.registrar); err != nil {
		return err
	}
	return enable(parent, name)
}

// enable gives a controller on to the control groups in one.
func enable(path, name string) error {
	if lists(path+"/cgroup.subtree_control", name) {
		return nil
	}
	if !lists(path+"/cgroup.controllers", name) {
		return fmt.Errorf("%s has no controller %s (see cgroup.controllers there)", path, name)
	}
	return writeFile(path+"/cgroup.subtree_control", "+"+name)
}

// lists tells whether a word is in a file.
func lists(file, word string) bool {
	text, _ := readFile(file)
	for w := range strings.FieldsSeq(text) {
		if w == word {
			return true
		}
	}
	return false
}

// close kills and removes all that has been made.
func (b *bounder) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var err error
	for _, c := range b.tops {
		err = errors.Join(err, c.close())
	}
	clear(b.tops)
	if b.home != nil {
		err = errors.Join(err, b.home.moveOut(b.registrar))
		b.home = nil
	}
	return err
}
