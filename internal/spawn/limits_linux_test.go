package spawn

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// needGroups skips a test where no control groups can be made.
func needGroups(t *testing.T) {
	t.Helper()
	k, err := tree.Open(tree.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	limited, err := k.NewBounded(tree.Bounds{MemoryBytes: 1 << 30, Processes: 100})
	if err != nil {
		t.Skip(err)
	}
	limited.Release()
}

// within returns a command that runs a script within limits.
func within(limits Limits, script string) *Command {
	cmd := shell(script)
	cmd.Limits = limits
	return cmd
}

// hog is a script that takes as many bytes of memory and then says so.
const hog = `x=$(head -c $1 /dev/zero | tr '\0' x); echo "has ${#x}"`

// starving has a child that is out of memory, and that the kernel kills rather than
// the shell, also if the first to be killed takes its time to die.
const starving = "(echo 1000 > /proc/self/oom_score_adj; head -c 100M /dev/zero | tail -c 100M >/dev/null)"

// Each limit is hit, on pipes and on a terminal, and it is known which.
func TestLimits(t *testing.T) {
	t.Parallel()
	needGroups(t)
	s := newSpawner(t)
	const mega = 1 << 20
	for _, test := range []struct {
		name     string
		limits   Limits
		script   string
		code     int
		output   string // is contained
		exceeded Exceeded
	}{
		{"memory", Limits{MemoryBytes: 32 * mega}, "set -- 100000000; exec sh -c '" + strings.ReplaceAll(hog, "'", `'"'"'`) + "' sh $1", 137, "", ExceededMemory},
		{"memory, a child", Limits{MemoryBytes: 32 * mega}, starving + "; echo code $?; exit 5", 5, "code 137", ""},
		{"memory, passed on", Limits{MemoryBytes: 32 * mega}, starving + "; exit $?", 137, "", ExceededMemory},
		{"memory, an exit status that looks like it", Limits{MemoryBytes: 32 * mega}, "exit 137", 137, "", ""},
		{"memory, killed by itself", Limits{MemoryBytes: 32 * mega}, "kill -KILL $$", 137, "", ""},
		{"memory, not reached", Limits{MemoryBytes: 64 * mega}, "set -- 1000000; " + hog, 0, "has 1000000", ""},
		{"processor time", Limits{CPUSeconds: 1}, "while :; do :; done", 128 + int(syscall.SIGXCPU), "", ExceededCPU},
		{"processor time, ignored", Limits{CPUSeconds: 1}, "trap '' XCPU; while :; do :; done", 137, "", ExceededCPU},
		{"processor time, an exit status that looks like it", Limits{CPUSeconds: 9}, "exit 152", 152, "", ""},
		{"file", Limits{FileBytes: 4096}, "exec head -c 5000 /dev/zero > file", 128 + int(syscall.SIGXFSZ), "", ExceededFile},
		{"file, not reached", Limits{FileBytes: 4096}, "head -c 4096 /dev/zero > file; stat -c %s file", 0, "4096", ""},
		{"file, ignored", Limits{FileBytes: 4096}, "trap '' XFSZ; exec head -c 5000 /dev/zero > file", 1, "", ""},
		{"open files", Limits{OpenFiles: 4}, "ulimit -S -n; ulimit -H -n; exec 3</dev/null; cat /dev/null; echo code $?", 0, "code 127", ""},
	} {
		for _, tty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, tty %v", test.name, tty), func(t *testing.T) {
				t.Parallel()
				cmd := within(test.limits, test.script)
				cmd.Dir = t.TempDir()
				if tty {
					onTerminal(cmd)
				}
				p, r := start(t, s, cmd)
				<-r.closed
				text := r.text(Stdout) + r.text(Terminal)
				if test.name == "memory, a child" && p.Mechanisms().Memory == Cgroup2 {
					test.code, test.output, test.exceeded = 137, "", ExceededMemory // all are killed together
				}
				if r.code != test.code || !strings.Contains(text, test.output) || p.Exceeded() != test.exceeded {
					t.Errorf("exit code %d, exceeded %q, output %q, %q; want %d, %q, %q",
						r.code, p.Exceeded(), text, r.text(Stderr), test.code, test.exceeded, test.output)
				}
			})
		}
	}
}

// What can be bounded only for all together is: children count, also those that
// have left the session.
func TestLimitsOfTree(t *testing.T) {
	t.Parallel()
	needGroups(t)
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		g := s.NewGroup()
		// Six who wait and the shell; the eighth can't be started.
		const bomb = "for i in 1 2 3 4 5 6 7 8 9; do setsid sleep 1000 & done; echo ready; wait"
		cmd, f := tagged(t, bomb)
		cmd.Limits = Limits{Processes: 7}
		r := newRecord()
		var p *Process
		if err := g.Start(cmd, func(started *Process) Events { p = started; return r }); err != nil {
			t.Fatal(err)
		}
		r.await(t, Stderr, "ork") // "Cannot fork"
		if n := len(f.members()); n > 7 {
			t.Errorf("%d processes are alive, the limit is 7", n)
		}
		p.Kill()
		<-r.closed
		f.expectNone(t)

		// Two halves, each of which would be allowed.
		const half = "(head -c 40M /dev/zero; exec sleep 1000) | (setsid -w tail -c 40M >/dev/null; echo over) & "
		cmd, f = tagged(t, half+half+"wait")
		cmd.Limits = Limits{MemoryBytes: 60 << 20}
		r = newRecord()
		if err := g.Start(cmd, func(started *Process) Events { p = started; return r }); err != nil {
			t.Fatal(err)
		}
		want := ExceededMemory
		if p.Mechanisms().Memory == Cgroup1 { // by version 2 all are killed together
			r.await(t, Stdout, "over")
			if !p.tree.OutOfMemory() {
				t.Error("it is not out of memory")
			}
			p.Kill()
			want = NotExceeded
		}
		<-r.closed
		if p.Exceeded() != want {
			t.Errorf("exceeded %q, want %q", p.Exceeded(), want)
		}
		f.expectNone(t)
	})
}

// A fork bomb stays within its limit and dies.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	needGroups(t)
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		cmd, f := tagged(t, "bomb() { bomb | bomb & }; echo ready; bomb; wait; sleep 1000")
		cmd.Limits = Limits{Processes: 30}
		r := newRecord()
		var p *Process
		if err := s.standing.Start(cmd, func(started *Process) Events { p = started; return r }); err != nil {
			t.Fatal(err)
		}
		r.await(t, Stdout, "ready")
		for range 20 {
			if n := len(f.members()); n > 30 {
				t.Errorf("%d processes are alive, the limit is 30", n)
			}
		}
		_, survivors := p.Terminate(t.Context(), 0)
		<-r.closed
		f.expectNone(t)
		if len(survivors) > 0 {
			t.Errorf("survivors %v", survivors)
		}
	})
}

// One process and one thread are enough for a program to be executed.
func TestSmallestLimits(t *testing.T) {
	t.Parallel()
	needGroups(t)
	s := newSpawner(t)
	got := output(t, s, within(Limits{Processes: 1, OpenFiles: 10, CPUSeconds: 1, FileBytes: 1}, "echo alone"))
	if got != "alone\n" {
		t.Errorf("output %q", got)
	}
}

func TestMechanisms(t *testing.T) {
	t.Parallel()
	needGroups(t)
	s := newSpawner(t)
	p, r := start(t, s, within(wide, "exit 0"))
	<-r.closed
	m := p.Mechanisms()
	isGroup := func(m Mechanism) bool { return m == Cgroup1 || m == Cgroup2 }
	if !isGroup(m.Memory) || !isGroup(m.Processes) || m.CPU != Rlimit || m.OpenFiles != "" || m.File != "" {
		t.Errorf("mechanisms %+v", m)
	}
	p, r = start(t, s, within(Limits{OpenFiles: 50, FileBytes: 1}, "exit 0"))
	<-r.closed
	if m := p.Mechanisms(); m != (Mechanisms{OpenFiles: Rlimit, File: Rlimit}) || p.Exceeded() != "" {
		t.Errorf("mechanisms %+v, exceeded %q", m, p.Exceeded())
	}
}

// A limit of one does not become another's, and none is left when it is over.
func TestLimitsMixed(t *testing.T) {
	t.Parallel()
	needGroups(t)
	eachMeans(t, func(t *testing.T, config Config) {
		s := spawnerFor(t, config)
		const script = "grep -E 'memory|pids|^0:' /proc/self/cgroup; ulimit -t; ulimit -n"
		free := output(t, s, shell(script))
		var mu sync.Mutex
		seen := map[string]bool{}
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				if i%3 == 0 {
					if got := output(t, s, shell("ulimit -t; ulimit -n")); !strings.HasSuffix(free, got) {
						t.Errorf("without limits: %q, want the end of %q", got, free)
					}
					return
				}
				n := uint64(100 + i)
				got := output(t, s, within(Limits{MemoryBytes: n << 20, CPUSeconds: n, Processes: n, OpenFiles: n}, script))
				if want := fmt.Sprintf("\n%d\n%d\n", n, n); !strings.HasSuffix(got, want) {
					t.Errorf("%q, want %q at the end", got, want)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[got] = true
			})
		}
		all.Wait()
		if len(seen) != 40 {
			t.Errorf("%d different limits, want 40", len(seen))
		}
	})
}
