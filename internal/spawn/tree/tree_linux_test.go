package tree

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// escapees are scripts that write a line when they have set up processes that
// are not in the session of the leader any more, and wait.
var escapees = []string{
	"setsid sh -c 'echo ready; exec sleep 1000' & wait",
	"(setsid sh -c '(echo ready; exec sleep 1000) & exit' &); exec sleep 1000",
	"trap '' TERM HUP; setsid sh -c 'sleep 1000 & echo ready; sleep 1000' & sleep 1000",
	"setsid sh -c 'echo ready; while :; do sleep 0.2 & sleep 0.01; done' & sleep 1000",
}

func TestKill(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		reg := &collected{}
		k := open(t, Config{Means: means, Registrar: reg})
		if k.Means() != means {
			t.Errorf("means %q", k.Means())
		}
		neighbour := start(t, k, escapees[0])
		for _, script := range escapees {
			f := start(t, k, script)
			if f.tree.Empty() {
				t.Errorf("%s: the tree is empty", script)
			}
			began := time.Now()
			f.mustKill(t)
			if took := time.Since(began); took > killTime {
				t.Errorf("%s: took %v to die", script, took)
			}
		}
		if !neighbour.alive(t) {
			t.Error("a neighbour has been killed, too")
		}
		neighbour.mustKill(t)

		path := reg.path(t)
		if !exists(path) {
			t.Errorf("%s, of which there is a record, does not exist", path)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if exists(path) || len(reg.records) > 0 {
			t.Errorf("left behind after Close: %q, records %q", path, reg.records)
		}
	})
}

// A tree can be killed when its leader has long been reaped.
func TestKillWithoutLeader(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		k := open(t, Config{Means: means})
		var trees []*Tree
		var left []*family
		for _, script := range []string{
			"sleep 1000 & echo ready",
			"setsid sleep 1000 & echo ready",
			"(setsid sh -c 'sleep 1000 & exit' &); echo ready",
		} {
			f := start(t, k, script)
			f.reap()
			if !f.alive(t) {
				t.Fatalf("%s: nothing is left behind", script)
			}
			trees, left = append(trees, f.tree), append(left, f)
		}
		gone := start(t, k, "echo ready")
		gone.reap()
		gone.awaitDeath(t)
		trees = append(trees, gone.tree)

		if trees = k.Sift(trees); len(trees) != len(left) {
			t.Errorf("%d trees are left, want %d", len(trees), len(left))
		}
		for _, f := range left {
			if !f.alive(t) {
				t.Error("Sift has killed something")
			}
		}
		if alive := k.Kill(trees); len(alive) > 0 {
			t.Errorf("%d trees live on", len(alive))
		}
		for _, f := range left {
			if f.alive(t) {
				t.Error("some of a tree live on")
			}
		}
	})
}

// Close kills what nobody has killed.
func TestClose(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		k := open(t, Config{Means: means})
		var families []*family
		for _, script := range escapees {
			families = append(families, start(t, k, script))
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range families {
			if f.alive(t) {
				t.Error("some of a tree live on")
			}
			f.reap()
			f.tree.Release()
		}
		if _, err := k.New(); err == nil {
			t.Error("New after Close has not failed")
		}
	})
}

// Everybody does everything at the same time.
func TestConcurrentUse(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		k := open(t, Config{Means: means})
		before := openFiles(t)
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				f, err := run(k, escapees[i%3])
				if err != nil {
					t.Error(err)
					return
				}
				defer f.pipe.Close()
				if _, err := f.lines.ReadString('\n'); err != nil {
					t.Error(err)
				}
				var killers sync.WaitGroup
				for range 3 {
					killers.Go(func() { f.tree.Kill() })
				}
				killers.Go(func() { f.tree.Empty() })
				killers.Go(f.reap)
				killers.Wait()
				if !f.tree.Kill() {
					t.Error("Kill: the tree is not known to be dead")
				}
				// The children of others have the pipe open until they execute.
				if !hungUp(t, f.pipe, killTime) {
					t.Error("some of a tree live on")
				}
				f.tree.Release()
			})
		}
		all.Wait()
		if after := openFiles(t); after > before {
			t.Errorf("%d descriptors are open, %d before", after, before)
		}
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A failed fork leaves a tree that can be released, and a keeper that goes on.
func TestFailedFork(t *testing.T) {
	eachMeans(t, func(t *testing.T, means Means) {
		k := open(t, Config{Means: means})
		for range 3 {
			tree, err := k.New()
			if err != nil {
				t.Fatal(err)
			}
			if err := probe(tree.place); err != nil {
				t.Fatal(err)
			}
			if !tree.Empty() {
				t.Error("the tree is not empty")
			}
			tree.Release()
		}
		start(t, k, escapees[0]).mustKill(t)
	})
}

func TestOpenUnknownMeans(t *testing.T) {
	_, err := Open(Config{Means: "magic"})
	if err == nil || !strings.Contains(err.Error(), "magic") {
		t.Errorf("error %v, want one that names the means", err)
	}
}

func TestRecords(t *testing.T) {
	record := formatRecord(Walk, "/tmp/a \"b\"\n/walk-ü")
	if strings.ContainsFunc(record, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("record %q is not printable", record)
	}
	m, path, err := parseRecord(record)
	if m != Walk || path != "/tmp/a \"b\"\n/walk-ü" || err != nil {
		t.Errorf("%q, %q, %v", m, path, err)
	}
	for _, bad := range []string{
		"", "walk", "walk x", `magic "/x"`,
		`cgroup2 "/tmp"`, `cgroup2 "/tmp/airlock-1"`, `freezer "/etc"`, `walk "/etc/passwd"`,
		fmt.Sprintf("walk %q", os.TempDir()+"/walk-x"),
	} {
		dir := os.TempDir() + "/airlock-1"
		_ = os.Mkdir(dir, 0o700)
		if err := Sweep(bad); err == nil {
			t.Errorf("Sweep(%q) has not failed", bad)
		}
		_ = os.Remove(dir)
	}
}
