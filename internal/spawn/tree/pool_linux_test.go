package tree

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// eachVersion runs a test for each version of control groups.
func eachVersion(t *testing.T, test func(t *testing.T, k *Keeper, c *cgroups)) {
	t.Helper()
	for _, means := range []Means{Cgroup2, Freezer} {
		t.Run(string(means), func(t *testing.T) {
			k, err := Open(Config{Means: means})
			if err != nil {
				t.Skipf("not possible here: %v", err)
			}
			defer func() {
				if err := k.Close(); err != nil {
					t.Error(err)
				}
			}()
			switch m := k.method.(type) {
			case cgroup2:
				test(t, k, m.cgroups)
			case freezer:
				test(t, k, m.cgroups)
			}
		})
	}
}

func leafOf(t *Tree) *leaf {
	switch p := t.place.(type) {
	case *cgroup2Place:
		return p.leaf
	case *freezerPlace:
		return p.leaf
	}
	return nil
}

// finish lets a family end by itself, and releases its tree.
func (f *family) finish(t testing.TB) {
	t.Helper()
	f.reap()
	f.awaitDeath(t)
	for !f.tree.Empty() { // the kernel may take a moment longer
	}
	f.tree.Release()
}

// An empty control group is used again, and only an empty one that nobody has
// changed.
func TestPool(t *testing.T) {
	eachVersion(t, func(t *testing.T, k *Keeper, c *cgroups) {
		first := start(t, k, "echo ready")
		used := leafOf(first.tree)
		first.finish(t)
		second := start(t, k, "echo ready; exec sleep 1000")
		if leafOf(second.tree) != used {
			t.Error("an empty control group has not been used again")
		}
		third := start(t, k, "echo ready; exec sleep 1000")
		if leafOf(third.tree) == used {
			t.Error("two trees are in one control group")
		}

		// A background child that has been left behind.
		left := start(t, k, "sleep 1000 & echo ready")
		left.reap()
		if left.tree.Empty() {
			t.Error("a tree with a background child is empty")
		}
		leaf := leafOf(left.tree)
		left.tree.Release() // by mistake
		fourth := start(t, k, "echo ready; exec sleep 1000")
		if leafOf(fourth.tree) == leaf {
			t.Error("a control group that is not empty has been used again")
		}

		// One that has been killed.
		leaf = leafOf(fourth.tree)
		fourth.mustKill(t)
		if exists(leaf.path) {
			t.Error("a control group that has been killed is kept")
		}

		// One in which members have made others.
		parent := start(t, k, "echo ready")
		leaf = leafOf(parent.tree)
		if err := os.MkdirAll(filepath.Join(leaf.path, "a", "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		parent.finish(t)
		if exists(leaf.path) {
			t.Error("a control group with others in it is kept")
		}

		second.mustKill(t)
		third.mustKill(t)
		if n := len(c.leaves); n != 0 {
			t.Errorf("%d control groups are kept, want none", n)
		}
	})
}

// Members of control groups that members have made belong to the tree.
func TestNestedControlGroups(t *testing.T) {
	eachVersion(t, func(t *testing.T, k *Keeper, c *cgroups) {
		f := start(t, k, "echo ready; read x; exec sleep 1000")
		nested := filepath.Join(leafOf(f.tree).path, "nested", "deep")
		if err := os.MkdirAll(nested, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(nested, "cgroup.procs"), []byte(strconv.Itoa(f.leader)), 0); err != nil {
			t.Fatal(err)
		}
		if f.tree.Empty() {
			t.Error("the tree is empty")
		}
		f.mustKill(t)
	})
}

// What somebody has frozen can be killed, and is not used again.
func TestFrozen(t *testing.T) {
	eachVersion(t, func(t *testing.T, k *Keeper, c *cgroups) {
		file, frozen := "cgroup.freeze", "1"
		if k.Means() == Freezer {
			file, frozen = "freezer.state", "FROZEN"
		}
		f := start(t, k, escapees[0])
		if err := os.WriteFile(filepath.Join(leafOf(f.tree).path, file), []byte(frozen), 0); err != nil {
			t.Fatal(err)
		}
		f.mustKill(t)

		f = start(t, k, "echo ready")
		leaf := leafOf(f.tree)
		f.reap()
		if err := os.WriteFile(filepath.Join(leaf.path, file), []byte(frozen), 0); err != nil {
			t.Fatal(err)
		}
		f.tree.Release()
		f = start(t, k, "echo ready; exec sleep 1000")
		if leafOf(f.tree) == leaf {
			t.Error("a frozen control group has been used again")
		}
		f.mustKill(t)
	})
}

// The pool is bounded, and its descriptors go with the keeper.
func TestPoolIsBounded(t *testing.T) {
	eachVersion(t, func(t *testing.T, k *Keeper, c *cgroups) {
		before := openFiles(t)
		var trees []*Tree
		for range maxIdle + 10 {
			tree, err := k.New()
			if err != nil {
				t.Fatal(err)
			}
			trees = append(trees, tree)
		}
		for _, tree := range trees {
			tree.Release()
		}
		if n := len(c.idle); n != maxIdle {
			t.Errorf("%d control groups are kept, want %d", n, maxIdle)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		if after := openFiles(t); after >= before {
			t.Errorf("%d descriptors are open after Close, %d before the first use", after, before)
		}
	})
}

// When somebody removes our control groups, others are made.
func TestRemovedControlGroups(t *testing.T) {
	eachVersion(t, func(t *testing.T, k *Keeper, c *cgroups) {
		tree, err := k.New() // the pool is empty now
		if err != nil {
			t.Fatal(err)
		}
		gone := c.top
		if err := removeCgroup(gone, deadlineNow()); err != nil {
			t.Fatal(err)
		}
		start(t, k, escapees[1]).mustKill(t)
		if c.top == gone {
			t.Error("no other top directory has been made")
		}

		err = probe(tree.place)
		if err == nil {
			t.Error("a process could be started in a control group that has been removed")
		}
		if k.Means() == Cgroup2 && !tree.Broken(err) {
			t.Errorf("the tree is not called broken after %v", err)
		}
		if !tree.Empty() || !tree.Kill() {
			t.Error("a tree whose control group has been removed is not known to be empty")
		}
		tree.Release()
	})
}

// A control group that can't take processes any more is not used again.
func TestBrokenControlGroup(t *testing.T) {
	k, err := Open(Config{Means: Cgroup2})
	if err != nil {
		t.Skipf("not possible here: %v", err)
	}
	defer k.Close()
	tree, err := k.New()
	if err != nil {
		t.Fatal(err)
	}
	leaf := leafOf(tree)
	if err := os.Mkdir(filepath.Join(leaf.path, "threads"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(leaf.path, "threads", "cgroup.type"), []byte("threaded"), 0); err != nil {
		t.Skipf("no threaded control groups here: %v", err)
	}
	if err := os.Mkdir(filepath.Join(leaf.path, "threads", "domain"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A domain in something threaded takes nobody.
	fd, err := version2{}.open(filepath.Join(leaf.path, "threads", "domain"))
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(leaf.fd)
	leaf.fd = fd
	if err := probe(tree.place); !tree.Broken(err) {
		t.Errorf("starting a process in it: %v; want an error that makes the tree a broken one", err)
	}
	tree.Release()
	if exists(leaf.path) {
		t.Error("it is kept")
	}
}
