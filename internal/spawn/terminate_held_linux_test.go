package spawn

import (
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// By whatever means a tree is held together, one that is asked to end keeps its
// grace and is killed after it, also when the leader is dead by then: of one that
// is known by the number of its leader nothing was found any more, once that had
// been reaped, and what ignored SIGTERM lived on.
func TestTerminateWithoutLeader(t *testing.T) {
	t.Parallel()
	const (
		aside = "exec >/dev/null 2>&1 </dev/null; "
		// stubborn ignores SIGTERM, polite takes its time. Neither holds the streams.
		stubborn = "sh -c 'trap \"\" TERM; " + aside + "echo x > ready; while :; do sleep 1000; done' & "
		polite   = "sh -c 'trap \"sleep 0.3; echo x > cleaned; exit\" TERM; " + aside + "echo x > ready2; while :; do sleep 0.01; done' & "
		// holder keeps the streams open a while longer than the leader lives.
		holder = "sh -c 'trap \"sleep 0.1; exit\" TERM; while :; do sleep 0.01; done' & "
	)
	for _, means := range []tree.Means{tree.Cgroup2, tree.Freezer, tree.Walk, tree.Group} {
		t.Run(string(means), func(t *testing.T) {
			t.Parallel()
			s := spawnerFor(t, Config{Means: means})
			if err := s.Check(); err != nil {
				t.Skipf("not possible here: %v", err)
			}
			for _, test := range []struct {
				name, script string
				grace        time.Duration
				keeps        bool // all of the grace is needed
			}{
				{"ignores", stubborn + "echo ready; wait", 300 * time.Millisecond, true},
				{"ignores, streams held", stubborn + holder + "echo ready; wait", 500 * time.Millisecond, true},
				{"cleans up", polite + "echo ready; wait", time.Minute, false},
				{"cleans up, streams held", polite + holder + "echo ready; wait", time.Minute, false},
				{"both", stubborn + polite + "echo ready; wait", time.Second, true},
			} {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					ready, ready2 := fifo(t, dir, "ready"), fifo(t, dir, "ready2")
					cmd, f := tagged(t, test.script)
					cmd.Dir = dir
					r := newRecord()
					var p *Process
					if err := s.standing.Start(cmd, func(started *Process) Events { p = started; return r }); err != nil {
						t.Fatal(err)
					}
					if strings.Contains(test.script, stubborn) {
						ready()
					}
					if strings.Contains(test.script, polite) {
						ready2()
					}
					r.await(t, Stdout, "ready\n")
					before := f.pids(t)
					began := time.Now()
					told := make(chan time.Duration, 1)
					go func() {
						<-r.exited
						told <- time.Since(began)
					}()
					killed, survivors := p.Terminate(t.Context(), test.grace)
					took := time.Since(began)
					f.expectNone(t)
					if kept := took >= test.grace; kept != test.keeps {
						t.Errorf("took %v of %v", took, test.grace)
					}
					if exit := <-told; test.keeps && exit >= test.grace {
						t.Errorf("the exit was told after %v, with the grace", exit)
					}
					if strings.Contains(test.script, "cleaned") {
						if _, err := os.Stat(dir + "/cleaned"); err != nil {
							t.Errorf("killed before it has cleaned up: %v", err)
						}
					}
					for _, pid := range before {
						// Those that sleep for a moment come and go.
						if isLasting(test.script) && !slices.Contains(killed, pid) {
							t.Errorf("killed %v, of %v", killed, before)
						}
					}
					if len(survivors) > 0 {
						t.Errorf("survivors %v", survivors)
					}
					<-r.closed
					if r.code != 143 {
						t.Errorf("exit code %d, want 143", r.code)
					}
				})
			}
		})
	}
}

func isLasting(script string) bool { return !strings.Contains(script, "sleep 0.01") }

// Who only looks at a tree does not put off the exit of its leader, which stays a
// zombie meanwhile: its number is still the one of the group.
func TestExitWhileHeld(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("read x; exit 3"))
	p.mu.Lock() // standard input is empty: it may be about to exit
	p.holds++
	p.mu.Unlock()
	<-r.exited
	if f := statFields(p.PID()); r.code != 3 || len(f) == 0 || f[0] != "Z" {
		t.Errorf("exit code %d, state %q; want 3 and a zombie", r.code, f)
	}
	if err := syscall.Kill(-p.PID(), 0); err != nil {
		t.Errorf("its group: %v", err)
	}
	select {
	case <-r.closed:
		t.Error("closed while it is looked at")
	default:
	}
	p.let()
	<-r.closed
}

// Whether the exit has to wait for others is found out in one with that from then
// on there are none: who came in between withheld it for the whole grace.
func TestHoldWhileEnding(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for range 100 {
		p, r := start(t, s, shell("exit 3"))
		late := func() (held, over bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if held = p.state == announced && !p.parted; held {
				p.holds++
			}
			return held, held || p.parted
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				held, over := late()
				for !over {
					held, over = late()
				}
				if !held {
					return
				}
				select {
				case <-r.exited:
				case <-time.After(5 * time.Second):
					t.Error("the exit is withheld")
				}
				p.let()
			})
		}
		all.Wait()
		<-r.closed
	}
}
