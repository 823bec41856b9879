package spawn

import (
	"testing"
	"time"
)

// A process that goes on when one of its children was out of memory, and that we
// end later, was not ended by its limit.
func TestNotEndedByMemory(t *testing.T) {
	t.Parallel()
	needGroups(t)
	s := newSpawner(t)
	for name, end := range map[string]func(p *Process){
		"kill":      (*Process).Kill,
		"signal":    func(p *Process) { _, _ = p.Signal(KILL) },
		"terminate": func(p *Process) { p.Terminate(t.Context(), 0) },
		"grace":     func(p *Process) { p.Terminate(t.Context(), 50*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := start(t, s, within(Limits{MemoryBytes: 32 << 20},
				"trap '' TERM; "+starving+"; echo code $?; while :; do sleep 1000; done"))
			if p.Mechanisms().Memory == Cgroup2 {
				<-r.closed // all are killed together
				return
			}
			r.await(t, Stdout, "code 137")
			if !p.tree.OutOfMemory() {
				t.Error("it is not out of memory")
			}
			end(p)
			<-r.closed
			if r.code != 137 || p.Exceeded() != NotExceeded {
				t.Errorf("exit code %d, exceeded %q; want 137 and nothing", r.code, p.Exceeded())
			}
		})
	}
}
