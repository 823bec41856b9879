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

// Members returns those members of the tree that are alive, in the order of
// their ids, and whether those are all that the means can find: there may be too
// few descriptors to look.
func (t *Tree) Members() (found []Member, complete bool) {
	found, complete = t.place.members()
	if t.bound != nil {
		more, ok := t.bound.members()
		found, complete = append(found, more...), complete && ok
	}
	return sortMembers(found), complete
}

// Members returns the members of each of these trees. What is costly about it is
// done once for all of them.
func (k *Keeper) Members(trees []*Tree) [][]Member {
	all := make([][]Member, len(trees))
	if len(trees) == 0 {
		return all
	}
	_ = k.method.members(trees, all)
	for i, t := range trees {
		if t.bound != nil {
			more, _ := t.bound.members()
			all[i] = append(all[i], more...)
		}
		all[i] = sortMembers(all[i])
	}
	return all
}

// membersEach asks each tree by itself.
func membersEach(trees []*Tree, all [][]Member) (complete bool) {
	complete = true
	for i, t := range trees {
		found, ok := t.place.members()
		all[i], complete = found, complete && ok
	}
	return complete
}

func sortMembers(all []Member) []Member {
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.PID, b.PID) })
	return slices.CompactFunc(all, func(a, b Member) bool { return a.PID == b.PID })
}
