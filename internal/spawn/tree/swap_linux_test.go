package tree

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// A limit on memory that leaves out swap is none where there is swap, or where it
// is not known.
func TestSwapIsBounded(t *testing.T) {
	t.Parallel()
	const titles = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	dir := fakeGroup(t, map[string]string{
		"empty":   titles,
		"nothing": "",
		"used":    titles + "/dev/sda2  partition\t2097148\t\t0\t\t-2\n",
		"two":     titles + "/dev/sda2  partition\t1\t\t0\t\t-2\n/swap  file\t1\t\t0\t\t-3\n",
	})
	for _, test := range []struct {
		m     Mechanism
		files string
		swap  string // the file that is missing without it
	}{
		{ByCgroup2, "memory.max memory.oom.group", "memory.swap.max"},
		{ByCgroup1, "memory.limit_in_bytes memory.oom_control", "memory.memsw.limit_in_bytes"},
	} {
		for _, counted := range []bool{false, true} {
			files := map[string]string{}
			for name := range strings.FieldsSeq(test.files) {
				files[name] = ""
			}
			if counted {
				files[test.swap] = ""
			}
			group := fakeGroup(t, files)
			for swaps, has := range map[string]bool{"none": false, "empty": false, "nothing": false, "used": true, "two": true, ".": true} {
				writes, err := resolve(group, controllers[0].settings[test.m](4096), filepath.Join(dir, swaps))
				if refused := has && !counted; (err != nil) != refused {
					t.Errorf("%s, counted %v, swaps %q: %v", test.m, counted, swaps, err)
				}
				if err != nil && (len(writes) > 0 || !strings.Contains(err.Error(), test.swap) || !strings.Contains(err.Error(), "swapaccount=1")) {
					t.Errorf("%s: %v, %v", test.m, writes, err)
				}
			}
		}
	}

	// It reaches who asks for the limit.
	k := open(t, Config{})
	k.bounder.swaps = filepath.Join(dir, "used")
	made, err := k.NewBounded(Bounds{MemoryBytes: 1 << 30})
	if refused, ok := errors.AsType[*UnenforceableError](err); ok {
		t.Logf("not possible here: %v", refused)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range made.bound.(*groupBound).groups {
		file := map[bool]string{true: "memory.memsw.limit_in_bytes", false: "memory.swap.max"}[g.owner.version.means() == cgroup1]
		if !exists(g.path + "/" + file) {
			t.Errorf("%s is not there, and the limit is said to be enforced", g.path+"/"+file)
		}
	}
	made.Release()
}
