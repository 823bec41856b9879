//go:build unix

package tree

// members implements [method].
func (groups) members(trees []*Tree, all [][]Member) bool { return membersEach(trees, all) }

func (p *groupPlace) members() (found []Member, complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return nil, true
	}
	return groupMembers(p.pid) // under the lock: the leader's number is kept meanwhile
}
