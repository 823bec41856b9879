package spawn

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
)

// pids returns the process ids of a family.
func (f *family) pids(t *testing.T) []int {
	t.Helper()
	var all []int
	for _, member := range f.members() {
		number, _, _ := strings.Cut(member, " ")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	slices.Sort(all)
	return all
}

// However its processes try to survive, a tree is gone when Terminate returns,
// and it tells of all that were there.
func TestTerminate(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		for name, script := range escapes {
			for _, tty := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, tty %v", name, tty), func(t *testing.T) {
					t.Parallel()
					s := spawnerFor(t, config)
					p, r, f := startReady(t, s.NewGroup(), script, tty)
					steady := !strings.HasPrefix(name, "forks")
					before := f.pids(t)
					killed, survivors := p.Terminate(t.Context(), 100*time.Millisecond)
					f.expectNone(t)
					if len(survivors) > 0 {
						t.Errorf("survivors %v", survivors)
					}
					if !slices.IsSorted(killed) {
						t.Errorf("killed %v are not in order", killed)
					}
					for _, pid := range before {
						if steady && !slices.Contains(killed, pid) {
							t.Errorf("killed %v, of %v", killed, before)
						}
					}
					<-r.closed
					if killed, survivors := p.Terminate(t.Context(), time.Hour); killed != nil || survivors != nil {
						t.Errorf("of a closed process: killed %v, survivors %v", killed, survivors)
					}
				})
			}
		}
	})
}

// Who ends when it is asked to is not killed: also one that has left the session,
// one that is stopped, and what the others start to clean up with.
func TestTerminateGracefully(t *testing.T) {
	t.Parallel()
	const (
		clean = `trap 'sh -c "sleep 0.1; echo cleaned"; exit 7' TERM; `
		loop  = "while :; do sleep 0.01; done"
	)
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for _, script := range []string{
			clean + "echo ready; " + loop,
			clean + "setsid sh -c 'echo ready; exec sleep 1000' & " + loop,
			clean + "setsid sh -c 'echo ready; kill -STOP $$' & " + loop,
			clean + "echo ready; kill -STOP $$; " + loop,
		} {
			p, r, f := startReady(t, s.NewGroup(), script, false)
			for strings.Contains(script, "STOP") && !slices.ContainsFunc(f.pids(t), isStopped) {
			}
			began := time.Now()
			_, survivors := p.Terminate(t.Context(), time.Minute)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s: took %v", script, took)
			}
			f.expectNone(t)
			<-r.closed
			if r.code != 7 || !strings.Contains(r.text(Stdout), "cleaned\n") || len(survivors) > 0 {
				t.Errorf("%s: exit code %d, output %q, survivors %v; want 7 and cleaned", script, r.code, r.text(Stdout), survivors)
			}
		}
	})
}

func isStopped(pid int) bool {
	f := statFields(pid)
	return len(f) > 0 && f[0] == "T"
}

// The grace ends early when Kill is called or the caller gives up.
func TestTerminateCutShort(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		for name, cut := range map[string]func(*Process, *Group, context.CancelFunc){
			"kill":   func(p *Process, _ *Group, _ context.CancelFunc) { p.Kill() },
			"cancel": func(_ *Process, _ *Group, cancel context.CancelFunc) { cancel() },
			"close":  func(_ *Process, g *Group, _ context.CancelFunc) { _ = g.Close() },
		} {
			g := s.NewGroup()
			p, r, f := startReady(t, g, escapes["ignores TERM"], false)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan []int)
			go func() {
				killed, _ := p.Terminate(ctx, time.Hour)
				done <- killed
			}()
			cut(p, g, cancel)
			if killed := <-done; len(killed) == 0 && name == "cancel" {
				t.Errorf("%s: nobody has been killed", name)
			}
			f.expectNone(t)
			<-r.closed
			cancel()
		}
	})
}

// What was written before the death is handed over first, as by Kill.
func TestTerminateKeepsTail(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	for i := range 10 {
		dir := t.TempDir()
		written := fifo(t, dir, "written")
		cmd := shell("trap '' TERM; head -c 50000 /dev/zero; : > written; while :; do sleep 1000; done")
		cmd.Dir = dir
		p, r := start(t, s, cmd)
		written()
		p.Terminate(t.Context(), time.Duration(i%3)*time.Millisecond)
		<-r.closed
		if out := len(r.text(Stdout)); out != 50000 || r.code != 137 {
			t.Fatalf("got %d bytes and exit code %d, want 50000 and 137", out, r.code)
		}
	}
}

// When the leader has exited, those that it has left behind are terminated, and
// the exit is told as soon as it is known.
func TestTerminateAfterExit(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		p, r, f := startReady(t, s.NewGroup(), "(trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.01; done) & exit 3", false)
		<-r.exited
		if killed, survivors := p.Terminate(t.Context(), time.Minute); len(killed) == 0 || len(survivors) > 0 {
			t.Errorf("killed %v, survivors %v", killed, survivors)
		}
		f.expectNone(t)
		<-r.closed
		if r.code != 3 || !strings.Contains(r.text(Stdout), "asked\n") {
			t.Errorf("exit code %d, output %q", r.code, r.text(Stdout))
		}
	})
}

// While the others have their grace, the exit of the leader is told, and the
// close is not.
func TestTerminateTellsExit(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & trap 'exit 4' TERM; while :; do sleep 0.01; done"))
	r.await(t, Stdout, "\n")
	left := number(t, r.text(Stdout))
	done := make(chan struct{})
	go func() {
		p.Terminate(t.Context(), time.Hour)
		close(done)
	}()
	<-r.exited
	if r.code != 4 {
		t.Errorf("exit code %d, want 4", r.code)
	}
	select {
	case <-r.closed:
		t.Error("closed while a member is alive")
	case <-done:
		t.Error("Terminate has returned while a member is alive")
	default:
	}
	if err := unix.Kill(left, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
	<-r.closed
}

// A grace of 0 asks nobody.
func TestTerminateAtOnce(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	p, r := start(t, s, shell("trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done"))
	r.await(t, Stdout, "ready\n")
	if killed, _ := p.Terminate(t.Context(), 0); !slices.Contains(killed, p.PID()) {
		t.Errorf("killed %v, want %d among them", killed, p.PID())
	}
	<-r.closed
	if r.code != 137 || r.text(Stdout) != "ready\n" {
		t.Errorf("exit code %d, output %q", r.code, r.text(Stdout))
	}
}

// TestTold: lists of process ids are in order, without repeats, and bounded.
func TestTold(t *testing.T) {
	t.Parallel()
	if got := told([]int{3, 1, 3, 2}); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	many := make([]int, limits.TerminatedPIDs+1000)
	for i := range many {
		many[i] = len(many) - i
	}
	if got := told(many); len(got) != limits.TerminatedPIDs || got[0] != 1 {
		t.Errorf("%d ids, the first is %d", len(got), got[0])
	}
}
