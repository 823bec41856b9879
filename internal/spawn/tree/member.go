package tree

import (
	"cmp"
	"slices"
)

// Member is a process of a tree, as it was when it was looked at. It goes on to
// mean that process when its id has become another's.
type Member struct {
	PID  int
	born uint64 // tells it from others that have had its id, where that is known
}

// Listing is those members of a tree that were alive when it was looked at, in the
// order of their ids.
type Listing struct {
	Members []Member
	// Complete tells whether those are all that the means can find: there may
	// be too few descriptors to look.
	Complete bool
}

// Members looks at the tree at once.
func (t *Tree) Members() Listing {
	l := t.Look(true)
	<-l.Done()
	return l.Listing()
}

// Members looks at each of these trees at once. What is costly about it is done
// once for all of them.
func (k *Keeper) Members(trees []*Tree) []Listing {
	if len(trees) == 0 {
		return nil
	}
	l := k.looker.add(trees, true)
	<-l.Done()
	return l.listings
}

// list looks at each of these trees, which all differ.
func (k *Keeper) list(trees []*Tree) []Listing {
	all := k.method.members(trees)
	for i, t := range trees {
		l := &all[i]
		if t.bound != nil {
			more, complete := t.bound.members()
			l.Members = append(l.Members, more...)
			l.Complete = l.Complete && complete
		}
		l.Members = sortMembers(l.Members)
	}
	return all
}

func sortMembers(all []Member) []Member {
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.PID, b.PID) })
	return slices.CompactFunc(all, func(a, b Member) bool { return a.PID == b.PID })
}
