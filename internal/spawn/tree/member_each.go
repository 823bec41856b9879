//go:build linux || windows

package tree

// lister is a place whose members are listed by itself.
type lister interface {
	members() (found []Member, complete bool)
}

// membersEach asks each tree by itself.
func membersEach(trees []*Tree) []Listing {
	all := make([]Listing, len(trees))
	for i, t := range trees {
		all[i].Members, all[i].Complete = t.place.(lister).members()
	}
	return all
}
