package spawn

import (
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Usage is what a process and all that it has started use together.
type Usage struct {
	// Processes is how many there are.
	Processes int
	// CPU is the processor time of those that are alive, and of those that
	// they have waited for.
	CPU time.Duration
	// MemoryBytes is their resident memory; what they share counts each time.
	MemoryBytes uint64
}

// Usages returns what each of these processes and all that it has started use.
// It is zero when none of them is alive, and for a process that closes or has
// closed. Where the system does not tell, which is everywhere but on Linux,
// processes are only counted. What is costly about finding out is done once for
// all of them.
func Usages(processes []*Process) []Usage {
	usages := make([]Usage, len(processes))
	places := make(map[*tree.Keeper][]int)
	var held []*Process
	defer func() {
		for _, p := range held {
			p.let()
		}
	}()
	for i, p := range processes {
		if p.hold(true) {
			held = append(held, p)
			keeper := p.group.spawner.trees.opened()
			places[keeper] = append(places[keeper], i)
		}
	}
	for keeper, places := range places {
		trees := make([]*tree.Tree, len(places))
		for i, place := range places {
			trees[i] = processes[place].tree
		}
		for i, listing := range keeper.Members(trees) {
			usages[places[i]] = processes[places[i]].usageOf(listing.Members)
		}
	}
	return usages
}

// usageOf adds up what members use. The helper of a confined process is none of it.
func (p *Process) usageOf(members []tree.Member) (u Usage) {
	for _, m := range members {
		if p.confined != nil && m.PID == p.child.pid {
			continue
		}
		u.Processes++
		cpu, memory := m.Usage()
		u.CPU += cpu
		u.MemoryBytes += memory
	}
	return u
}
