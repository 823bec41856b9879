package tree

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " -1 4194560 124 0 0 0 0 1 0 0 20 0 %T 0 5128 2703360 223 0"
	stat := func(name, state, ids, threads string) []byte {
		return []byte("77 (" + name + ") " + state + " " + ids + strings.Replace(rest, "%T", threads, 1))
	}
	want := process{parent: 12, group: 34, session: 56, start: 5128}
	for _, test := range []struct {
		name  string
		stat  []byte
		alive bool
	}{
		{"plain", stat("sh", "S", "12 34 56 0", "1"), true},
		{"name like a number", stat("a) R 1 2 (3", "S", "12 34 56 0", "1"), true},
		{"stopped", stat("sh", "T", "12 34 56 0", "1"), true},
		{"zombie", stat("sh", "Z", "12 34 56 0", "1"), false},
		{"zombie whose threads run on", stat("sh", "Z", "12 34 56 0", "3"), true},
	} {
		got, alive := parseStat(test.stat)
		got.stopped, got.cpu, got.pages = false, 0, 0 // see TestMemberUsage
		if got != want || alive != test.alive {
			t.Errorf("%s: %+v, alive %v; want %+v, %v", test.name, got, alive, want, test.alive)
		}
	}
	for _, bad := range []string{"", "77", "77 (sh", "77 (sh) S 1"} {
		if _, alive := parseStat([]byte(bad)); alive {
			t.Errorf("%q is alive", bad)
		}
	}
}

// Who is a member, and who only has a number that once was one's.
func TestTarget(t *testing.T) {
	t.Parallel()
	const leader, mark = 100, 7
	running := target{mark: mark, leader: leader, from: 1000, to: 1001, reaped: never}
	reaped := running
	reaped.reaped = 5000
	for _, test := range []struct {
		name   string
		target target
		p      process
		want   bool
	}{
		{"the leader", running, process{pid: leader, start: 1001}, true},
		{"in its session", running, process{pid: 7, session: leader, start: 2000}, true},
		{"in its group", running, process{pid: 7, group: leader, start: 2000}, true},
		{"marked", running, process{pid: 7, mark: mark, start: 1000}, true},
		{"another", running, process{pid: 7, session: 8, group: 9, start: 2000}, false},
		{"another mark", running, process{pid: 7, mark: mark + 1, start: 2000}, false},
		{"marked before", running, process{pid: 7, mark: mark, start: 999}, false},
		{"older", running, process{pid: 7, session: leader, start: 999}, false},

		{"left in the session", reaped, process{pid: 7, session: leader, start: 4999}, true},
		{"left and marked", reaped, process{pid: 7, mark: mark, start: 6000}, true},
		{"another leader with the number", reaped, process{pid: leader, session: leader, group: leader, start: 5001}, false},
		{"in the session of that one", reaped, process{pid: 7, session: leader, start: 5002}, false},

		{"not started yet", target{from: 1000, reaped: never}, process{pid: 7, start: 2000}, false},
		{"not started yet, marked", target{mark: mark, from: 1000, reaped: never}, process{pid: 7, mark: mark, start: 2000}, true},
		{"no marks", target{leader: leader, from: 1000, to: 1001, reaped: never}, process{pid: 7, start: 2000}, false},
	} {
		if got := test.target.led(test.p) || test.target.marked(test.p); got != test.want {
			t.Errorf("%s: member %v, want %v", test.name, got, test.want)
		}
	}
}

// A number may be another process's by the time it is to be killed.
func TestReusedNumber(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/bin/cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, alive, err := look(cmd.Process.Pid)
	if !alive || err != nil {
		t.Fatal(alive, err)
	}
	earlier := p
	earlier.start--
	earlier.signal(unix.SIGKILL)
	killVerified([]int{p.pid}, func() []int { return nil })
	killVerified(nil, func() []int { return []int{p.pid} })
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("a process has been killed for another one's number: %v", err)
	}

	cmd = exec.Command("/bin/cat")
	if stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if p, _, err = look(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	p.signal(unix.SIGKILL)
	if err := cmd.Wait(); err == nil {
		t.Error("it has not been killed")
	}
	p.signal(unix.SIGKILL) // there is nobody, which is fine
}

// Terminating many processes does not scan many times.
func TestKillsShareScans(t *testing.T) {
	k := open(t, Config{Means: Walk})
	w := k.method.(*walk)
	if w.marks == nil {
		t.Skip("there is no marker here")
	}
	m := *w.marks.marker
	scans := 0
	parent := os.Getppid() // which is there in each scan
	get := m.get
	m.get = func(pid int) (uint32, error) {
		if pid == parent {
			scans++ // scans do not overlap
		}
		return get(pid)
	}
	w.hunter.marker = &m
	var trees []*Tree
	var families []*family
	for range 50 {
		f := start(t, k, "echo ready; exec sleep 1000")
		families, trees = append(families, f), append(trees, f.tree)
	}
	began := time.Now()
	if alive := k.Kill(trees); len(alive) > 0 {
		t.Errorf("%d trees are alive", len(alive))
	}
	t.Logf("%d scans, %v", scans, time.Since(began))
	if scans > 20 {
		t.Errorf("%d scans for %d trees", scans, len(families))
	}
	for _, f := range families {
		f.awaitDeath(t)
		f.reap()
	}
}
