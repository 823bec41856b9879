package tree

import (
	"errors"
	"strings"
	"sync"
	"syscall"
)

// Means is a way to hold trees together.
type Means string

// Means, the strongest first. Not every system has every one.
const (
	// Auto is the strongest that works here.
	Auto Means = "auto"
	// Cgroup2 is a control group of version 2 for each tree (Linux 5.14).
	Cgroup2 Means = "cgroup2"
	// Freezer is a control group of version 1 for each tree.
	Freezer Means = "freezer"
	// Walk looks for members among all processes. It works without privileges,
	// but does not find every process that wants to hide.
	Walk Means = "walk"
	// Group is the process group of the leader, and nothing else.
	Group Means = "group"
	// Job is a job object for each tree (Windows).
	Job Means = "job"
)

// Registrar learns of what has to be removed should this program die. A record
// is a line of printable text, for [Sweep].
type Registrar interface {
	Add(record string)
	Remove(record string)
}

// Config says how trees are held together.
type Config struct {
	// Means is the way; empty means Auto.
	Means Means
	// Registrar may be nil.
	Registrar Registrar
	// Subreaper allows this program to become the parent of its descendants
	// whose parents have died, if the means gain by it (walk does). It then has
	// to reap them.
	Subreaper bool
	// Relocate allows this program, with the descendants that are where it is,
	// to be moved to a control group in its own, if bounds take that.
	Relocate bool
}

// Keeper holds trees together. Its owner has to close it.
type Keeper struct {
	means  Means
	why    []string
	method method
	// bounder is nil where there are no bounds.
	bounder *bounder
	looker  *looker
	closed  sync.Once
}

// method is one of the means at work.
type method interface {
	// place makes room for one tree.
	place() (place, error)
	// sift returns the trees among these that are not known to be empty, in
	// any order. It may use the slice.
	sift(trees []*Tree) []*Tree
	// killAll kills all these trees, side by side, releases those that are dead
	// and returns the others. It may use the slice.
	killAll(trees []*Tree) []*Tree
	// members lists the living members of each of these trees, which all differ.
	members(trees []*Tree) []Listing
	// subreaper tells whether this program gets its orphaned descendants.
	subreaper() bool
	// close kills and removes everything.
	close() error
}

// place is where the processes of one tree are. Its methods are those of a
// [Tree].
type place interface {
	enter(attr *syscall.SysProcAttr) error
	leave()
	started(pid int) error
	reaping()
	kill() bool
	empty() bool
	broken(err error) bool
	fragile() bool
	release()
}

// Open makes a keeper. If the means that were asked for are not possible here,
// the error says what is missing. Auto goes on to weaker ones. An error that
// wraps a [syscall.Errno] is about a shortage: it may go better another time.
func Open(config Config) (*Keeper, error) {
	if config.Registrar == nil {
		config.Registrar = unregistered{}
	}
	if config.Means == "" {
		config.Means = Auto
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	k := &Keeper{}
	k.looker = newLooker(k.list)
	for _, c := range candidates {
		if config.Means != Auto && config.Means != c.means {
			continue
		}
		method, notes, err := c.open(config)
		if err == nil {
			k.means, k.method = c.means, method
			k.bounder = newBounder(config, c.means)
			k.why = append(k.why, notes...)
			return k, nil
		}
		if isShortage(err) {
			return nil, err
		}
		k.why = append(k.why, string(c.means)+": "+err.Error())
	}
	if len(k.why) == 0 {
		return nil, errors.New(string(config.Means) + " is no way to hold processes together on this system")
	}
	return nil, errors.New("cannot hold processes together by " + k.Why())
}

// isShortage tells whether an error says nothing about what is possible.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// candidate is one of the means, and how to open it. The notes are what makes
// it weaker than it could be.
type candidate struct {
	means Means
	open  func(Config) (m method, notes []string, err error)
}

type unregistered struct{}

func (unregistered) Add(string)    {}
func (unregistered) Remove(string) {}

// Means returns the means that are in use.
func (k *Keeper) Means() Means { return k.means }

// Why says why stronger means are not in use, or what makes these weaker than
// they could be. It is empty if there is nothing to say.
func (k *Keeper) Why() string { return strings.Join(k.why, "; ") }

// Subreaper reports whether this program has become the parent of its orphaned
// descendants, which it then has to reap.
func (k *Keeper) Subreaper() bool { return k.method.subreaper() }

// New makes a tree for one process that is about to be forked.
func (k *Keeper) New() (*Tree, error) {
	p, err := k.method.place()
	if err != nil {
		return nil, err
	}
	return &Tree{place: p, looker: k.looker}, nil
}

// Sift releases the empty ones of these trees and returns the others. What is
// costly about finding out is done once for all of them. The slice is used up.
func (k *Keeper) Sift(trees []*Tree) []*Tree {
	if len(trees) == 0 {
		return trees
	}
	return k.method.sift(trees)
}

// Kill kills these trees, side by side. Those that are dead are released, the
// others returned. The slice is used up.
func (k *Keeper) Kill(trees []*Tree) (alive []*Tree) {
	if len(trees) == 0 {
		return trees
	}
	return k.method.killAll(trees)
}

// Close kills what is left of all trees and removes what has been made for
// them. It may be called again. The error says what could not be removed; it
// will be tried again by Sweep and by the next Open.
func (k *Keeper) Close() (err error) {
	k.looker.running.Wait()
	k.closed.Do(func() { err = errors.Join(k.method.close(), k.bounder.close()) })
	return err
}

// Tree is a process and all that it starts.
type Tree struct {
	place  place
	bound  bound // nil if there is none
	looker *looker
}

// Enter makes the next fork on this thread, with attr, start the tree. The
// thread must be locked to its goroutine. Leave has to follow unless it fails.
func (t *Tree) Enter(attr *syscall.SysProcAttr) error { return t.place.enter(attr) }

// Leave makes forks on this thread ordinary ones again.
func (t *Tree) Leave() { t.place.leave() }

// Started tells that pid has been forked and leads the tree, its session and
// its process group. If it fails the process has been killed.
func (t *Tree) Started(pid int) error { return t.place.started(pid) }

// Reaping tells that the leader, a zombie, is about to be reaped. From then on
// its id may belong to anybody.
func (t *Tree) Reaping() { t.place.reaping() }

// Kill kills every member, and those that they start meanwhile, until none is
// left. It reports whether it is known that none is, and gives up after two
// seconds.
func (t *Tree) Kill() (dead bool) {
	dead = t.place.kill()
	return t.killBound() && dead
}

// Empty reports whether it is known that no member is alive. A zombie is not
// alive.
func (t *Tree) Empty() bool { return t.place.empty() && t.emptyBound() }

// Fragile reports whether members get lost when the ones that have started them
// are killed by anything but Kill, or have been lost since the leader was reaped.
func (t *Tree) Fragile() bool { return t.place.fragile() }

// Broken reports whether a fork may have failed with err because somebody else
// has removed or changed what holds the tree, so that it could succeed in
// another tree. This one can only be released then.
func (t *Tree) Broken(err error) bool { return t.place.broken(err) }

// Release gives up a tree that is known to be empty: Empty or Kill has said so,
// or the fork has failed.
func (t *Tree) Release() {
	t.place.release()
	if t.bound != nil {
		t.bound.release()
	}
}
