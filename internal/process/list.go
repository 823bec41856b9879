package process

import (
	"cmp"
	"slices"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

// about is what lists tell of a process beside its state.
type about struct {
	argv    []string
	cut     bool // there is more
	started time.Time
}

// describe keeps of a start what lists tell.
func describe(params *protocol.StartParams) about {
	a := about{started: time.Now(), argv: []string{}}
	room := limits.ListedArgvBytes
	for _, word := range params.Argv {
		if len(word) > room {
			a.cut = true
			break
		}
		room -= len(word) + 1
		a.argv = append(a.argv, word)
	}
	return a
}

// Counts tells how many processes there are that are not forgotten, and how many
// of them have not exited.
func (t *Table) Counts() (all, live int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.processes {
		p.mu.Lock()
		if p.state < exited {
			live++
		}
		p.mu.Unlock()
	}
	return len(t.processes), live
}

// List describes processes in the order of their starts: as many as fit in one
// answer.
func (t *Table) List(params *protocol.ListParams) *protocol.ListResult {
	t.mu.Lock()
	var all []*Process
	for _, p := range t.processes {
		if p.number > params.After {
			all = append(all, p)
		}
	}
	t.mu.Unlock()
	slices.SortFunc(all, func(a, b *Process) int { return cmp.Compare(a.number, b.number) })

	result := &protocol.ListResult{Processes: []protocol.ProcessInfo{}}
	var using []int // places in the result of those with a child
	var children []Child
	room := limits.ListBytes
	for i, p := range all {
		room -= len(p.id) + limits.ListedArgvBytes
		if i > 0 && room < 0 {
			result.Next = all[i-1].number
			break
		}
		info, child := p.describe()
		if child != nil && params.Usage {
			using, children = append(using, i), append(children, child)
		}
		result.Processes = append(result.Processes, info)
	}
	if len(children) == 0 {
		return result
	}
	for i, usage := range t.launcher.Usages(children) {
		result.Processes[using[i]].Usage = &protocol.ProcessUsage{
			Processes:   usage.Processes,
			CPUMs:       uint64(usage.CPU.Milliseconds()),
			MemoryBytes: usage.MemoryBytes,
		}
	}
	return result
}

// describe returns what a list tells of a process, and its child if it is there.
func (p *Process) describe() (protocol.ProcessInfo, Child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info := protocol.ProcessInfo{
		ProcessID:   p.id,
		State:       stateNames[p.state],
		Argv:        p.about.argv,
		ArgvCut:     p.about.cut,
		TTY:         p.hasTerminal,
		StartedAtMs: p.about.started.UnixMilli(),
		NextSeq:     p.nextSeq,
		OutputBytes: map[protocol.Stream]uint64{},
	}
	for stream, n := range p.outputBytes {
		if n > 0 {
			info.OutputBytes[StreamName(spawn.Stream(stream))] = n
		}
	}
	if p.child != nil {
		info.PID = p.child.PID()
	}
	if p.exitSeq != 0 {
		info.ExitCode = new(p.exitCode)
	}
	if p.reasonSeq != 0 {
		info.Reason = p.reason
	}
	if p.state == running || p.state == exited {
		return info, p.child
	}
	return info, nil
}

var stateNames = [...]protocol.ProcessState{
	starting: protocol.StateStarting,
	running:  protocol.StateRunning,
	exited:   protocol.StateExited,
	closed:   protocol.StateClosed,
}
