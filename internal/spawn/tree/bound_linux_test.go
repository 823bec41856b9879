package tree

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakeGroup makes a folder with files like those of a control group.
func fakeGroup(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is written depends on what the kernel has.
func TestResolve(t *testing.T) {
	t.Parallel()
	const huge = 1<<64 - 1
	for _, test := range []struct {
		name  string
		c     int
		m     Mechanism
		value uint64
		files string
		want  []string
	}{
		{"version 2", 0, ByCgroup2, 4096, "memory.max memory.swap.max memory.oom.group", []string{"memory.oom.group=1", "memory.swap.max=0", "memory.max=4096"}},
		{"version 2 without counted swap", 0, ByCgroup2, 4096, "memory.max", []string{"memory.max=4096"}},
		{"version 2 without memory", 0, ByCgroup2, 4096, "", []string{"memory.max=4096"}},
		{"version 1", 0, ByCgroup1, huge, "memory.limit_in_bytes memory.memsw.limit_in_bytes", []string{"memory.limit_in_bytes=18446744073709551615", "memory.memsw.limit_in_bytes=18446744073709551615"}},
		{"version 1 without counted swap", 0, ByCgroup1, 1, "memory.limit_in_bytes", []string{"memory.limit_in_bytes=1"}},
		{"pids", 1, ByCgroup1, 7, "pids.max", []string{"pids.max=7"}},
		{"more pids than there are", 1, ByCgroup2, huge, "pids.max", []string{"pids.max=4194304"}},
	} {
		files := map[string]string{}
		for name := range strings.FieldsSeq(test.files) {
			files[name] = ""
		}
		dir := fakeGroup(t, files)
		none := dir + "/no-swaps"
		writes, err := resolve(dir, controllers[test.c].settings[test.m](test.value), none)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		for _, w := range writes {
			got = append(got, strings.TrimPrefix(w.Path, dir+"/")+"="+w.Text)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestOOMKills(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0,
		"low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n": 3,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 12\n":              12,
		"oom_kill_disable 1\nunder_oom 1\n":                           0,
		"oom_kill many\n":                                             0,
	} {
		if got := oomKills(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEnable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, controllers, enabled, want string
		written                          string
	}{
		{"there", "cpu memory pids\n", "cpu\n", "", "+memory\n"},
		{"enabled already", "cpu memory pids\n", "memory\n", "", "memory\n"},
		{"missing", "cpu pids\n", "\n", "has no controller memory", "\n"},
		{"no files", "", "", "has no controller memory", ""},
	} {
		files := map[string]string{}
		if test.controllers != "" {
			files["cgroup.controllers"], files["cgroup.subtree_control"] = test.controllers, test.enabled
		}
		dir := fakeGroup(t, files)
		err := enable(dir, "memory")
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if test.controllers == "" {
			continue
		}
		got, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if !strings.HasPrefix(string(got), strings.TrimSuffix(test.written, "\n")) {
			t.Errorf("%s: %q has been written, want %q", test.name, got, test.written)
		}
	}
}

// Where there is no version of a controller, the error says what was tried.
func TestUnenforceable(t *testing.T) {
	t.Parallel()
	failed := &UnenforceableError{Limit: "memory", Tried: []string{"cgroup2: a", "cgroup1: b"}}
	if got, want := failed.Error(), "bounding memory: cgroup2: a; cgroup1: b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b := newBounder(Config{Registrar: unregistered{}}, Walk)
	nobody := controller{name: "airlock-test", limit: "tests", value: func(Bounds) uint64 { return 1 }}
	_, err := b.add(&groupBound{mechanism: map[string]Mechanism{}}, nobody, 1, false)
	refused, ok := errors.AsType[*UnenforceableError](err)
	if !ok || refused.Limit != "tests" || len(refused.Tried) != 2 ||
		!strings.HasPrefix(refused.Tried[0], "cgroup2: ") || !strings.HasPrefix(refused.Tried[1], "cgroup1: ") {
		t.Errorf("error %v", err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	if _, _, err := b.bind(Bounds{MemoryBytes: 1 << 30}); !errors.Is(err, errClosed) {
		t.Errorf("after close: %v, want %v", err, errClosed)
	}
}

// Nobody is moved to a home when others are in the control group, too.
func TestMoveInRefuses(t *testing.T) {
	t.Parallel()
	dir := fakeGroup(t, map[string]string{"cgroup.procs": "1\n"})
	if _, err := moveIn(dir, unregistered{}); err == nil || !strings.Contains(err.Error(), "one is 1") {
		t.Errorf("error %v", err)
	}
}

func TestDescends(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	if !descends(self, self) {
		t.Error("a process does not descend from itself")
	}
	if !descends(self, os.Getppid()) {
		t.Error("a process does not descend from its parent")
	}
	if self != 1 && descends(1, self) {
		t.Error("the first process descends from this one")
	}
}

// A bounded tree's groups hold who has joined them, and are gone afterwards.
func TestBoundedTree(t *testing.T) {
	t.Parallel()
	eachMeans(t, func(t *testing.T, means Means) {
		k := open(t, Config{Means: means})
		bounded, err := k.NewBounded(Bounds{MemoryBytes: 1 << 30, Processes: 50})
		if err != nil {
			t.Skip(err)
		}
		entry := bounded.Entry()
		if len(entry) == 0 {
			t.Fatal("there is nothing to do to be bounded")
		}
		if m, p := bounded.Mechanisms(); m == "" || p == "" {
			t.Errorf("mechanisms %q and %q", m, p)
		}
		if bounded.OutOfMemory() || !bounded.Empty() {
			t.Error("a new tree is out of memory, or not empty")
		}
		bounded.Release()
		for _, w := range entry {
			if strings.HasSuffix(w.Path, "cgroup.procs") && unix.Access(w.Path, unix.F_OK) == nil {
				t.Errorf("%s is left", w.Path)
			}
		}
	})
}

// Members are known, each as itself, and what they use.
func TestMemberUsage(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	p, alive, err := look(self)
	if err != nil || !alive {
		t.Fatal(err)
	}
	m := Member{PID: self, born: p.start}
	for cpu := time.Duration(0); cpu == 0; {
		var memory uint64
		if cpu, memory = m.Usage(); memory < 1<<20 {
			t.Fatalf("this program has %d bytes", memory)
		}
	}
	if !m.Alive() || m.Before(p.start) || !m.Before(p.start+1) {
		t.Error("this program is not itself")
	}
	other := Member{PID: self, born: p.start + 1}
	if cpu, memory := other.Usage(); cpu != 0 || memory != 0 || other.Alive() {
		t.Error("another one with the same number is alive")
	}
	other.Kill()
	other.Terminate()
}
