package spawn

import (
	"testing"
	"time"
)

// All that a tree has is counted, by any means, and nothing else.
func TestUsage(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g := s.NewGroup()
		busy, r, _ := startReady(t, g, "setsid sh -c 'echo ready; while :; do :; done' & wait", false)
		idle, r2, _ := startReady(t, g, "echo ready; exec sleep 1000", false)
		for {
			got := Usages([]*Process{busy, idle})
			if got[0].Processes > 2 || got[1].Processes != 1 {
				t.Fatalf("usage %+v, want 2 processes and 1", got)
			}
			if got[0].Processes == 2 && got[0].CPU >= 100*time.Millisecond+2*got[1].CPU && got[0].MemoryBytes > 128<<10 && got[1].MemoryBytes > 64<<10 {
				break // one that sleeps uses less
			}
		}
		busy.Kill()
		idle.Kill()
		<-r.closed
		<-r2.closed
		if got := Usages([]*Process{busy}); got[0] != (Usage{}) {
			t.Errorf("usage of a dead process %+v", got)
		}
		if got := Usages(nil); len(got) != 0 {
			t.Errorf("usage of nothing %+v", got)
		}
	})
}

// A process may close while somebody asks what it uses.
func TestUsageWhileClosing(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for range 20 {
			g := s.NewGroup()
			r := newRecord()
			var p *Process
			if err := g.Start(shell("exit 3"), func(started *Process) Events { p = started; return r }); err != nil {
				t.Fatal(err)
			}
			for over := false; !over; {
				if got := Usages([]*Process{p}); got[0].Processes > 1 {
					t.Fatalf("usage %+v", got)
				}
				select {
				case <-r.closed:
					over = true
				default:
				}
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
