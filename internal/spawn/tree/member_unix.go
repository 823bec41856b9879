//go:build unix

package tree

// members implements [method].
func (groups) members(trees []*Tree) []Listing {
	numbers := make([]int, len(trees))
	for i, t := range trees {
		numbers[i] = t.place.(*groupPlace).number()
	}
	all := groupMembers(numbers)
	for i, t := range trees {
		// Those that have been seen may be others', once the leader has been reaped.
		if t.place.(*groupPlace).number() == 0 {
			all[i] = Listing{Complete: true}
		}
	}
	return all
}
