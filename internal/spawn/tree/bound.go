package tree

import "strings"

// Bounds limits what a tree may use; 0 is no limit.
type Bounds struct {
	MemoryBytes uint64
	Processes   uint64 // threads count, too
	// Apart keeps the leader out of them until it, or one that it has started, has
	// carried out [Tree.Entry].
	Apart bool
}

func (b Bounds) none() bool { return b.MemoryBytes == 0 && b.Processes == 0 }

// Mechanism names what holds a tree within its bounds.
type Mechanism string

// Mechanisms.
const (
	ByCgroup2 Mechanism = "cgroup2" // a control group of version 2
	ByCgroup1 Mechanism = "cgroup1" // a control group of version 1
)

// UnenforceableError is why a bound can't be enforced here.
type UnenforceableError struct {
	Limit string   // "memory" or "processes"
	Tried []string // what, and why it failed
}

func (e *UnenforceableError) Error() string {
	return "bounding " + e.Limit + ": " + strings.Join(e.Tried, "; ")
}

// Write is a text to be written to a file that is there.
type Write struct{ Path, Text string }

// bound is what holds a tree within its bounds.
type bound interface {
	entry() []Write
	mechanisms() (memory, processes Mechanism)
	outOfMemory() bool
	members() (found []Member, complete bool)
	kill() bool
	empty() bool
	release()
}

// NewBounded makes a tree like New, with bounds. They hold for a process once it
// has carried out [Tree.Entry], and for all that it starts from then on. If the
// bounds can't be enforced the error is an [*UnenforceableError].
func (k *Keeper) NewBounded(bounds Bounds) (*Tree, error) {
	if bounds.none() {
		return k.New()
	}
	b, p, err := k.bounder.bind(bounds)
	if err != nil {
		return nil, err
	}
	if p == nil {
		if p, err = k.method.place(); err != nil {
			b.release()
			return nil, err
		}
	}
	return &Tree{place: p, bound: b, looker: k.looker}, nil
}

// Entry returns what the leader has to write, in this order, before it executes
// its program; it may be more than one thread then. Nothing of it is needed for a
// tree without bounds.
func (t *Tree) Entry() []Write {
	if t.bound == nil {
		return nil
	}
	return t.bound.entry()
}

// Mechanisms returns what holds the tree within each of its bounds.
func (t *Tree) Mechanisms() (memory, processes Mechanism) {
	if t.bound == nil {
		return "", ""
	}
	return t.bound.mechanisms()
}

// OutOfMemory reports whether the kernel has killed a member because the tree
// had no more memory.
func (t *Tree) OutOfMemory() bool { return t.bound != nil && t.bound.outOfMemory() }

// killBound kills whom only the bounds know of.
func (t *Tree) killBound() (dead bool) { return t.bound == nil || t.bound.kill() }

// emptyBound tells whether it is known that the bounds hold nobody.
func (t *Tree) emptyBound() bool { return t.bound == nil || t.bound.empty() }
