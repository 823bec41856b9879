package tree

import "testing"

func TestFindCgroup(t *testing.T) {
	t.Parallel()
	const (
		unified = "29 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
			"37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n" +
			"38 31 0:35 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
		both = "9:name=systemd:/x\n6:freezer:/frozen/one\n4:cpu,cpuacct:/c\n0::/user.slice/a.scope\n"
	)
	for _, test := range []struct {
		name, mounts, groups, controller, want string
	}{
		{"unified", unified, "0::/user.slice/a.scope\n", "", "/sys/fs/cgroup/user.slice/a.scope"},
		{"root of a namespace", unified, "0::/\n", "", "/sys/fs/cgroup"},
		{"hybrid", hybrid, both, "", "/sys/fs/cgroup/unified/user.slice/a.scope"},
		{"freezer", hybrid, both, "freezer", "/sys/fs/cgroup/freezer/frozen/one"},
		{"one controller of two", hybrid, both, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/c"},
		{"colon in the path", unified, "0::/a:b\n", "", "/sys/fs/cgroup/a:b"},
		{
			"part of the hierarchy", "1 2 0:3 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"0::/docker/abc/job\n", "", "/sys/fs/cgroup/job",
		},
		{
			"the part itself", "1 2 0:3 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"0::/docker/abc\n", "", "/sys/fs/cgroup",
		},
		{
			"the second mount has it", "1 2 0:3 /other /a ro - cgroup2 cgroup rw\n" + unified,
			"0::/docker/abc\n", "", "/sys/fs/cgroup/docker/abc",
		},
		{
			"blanks and backslashes", `1 2 0:3 /a\040b /mnt/c\134d\011e rw - cgroup2 none rw` + "\n",
			"0::/a b/c\n", "", "/mnt/c\\d\te/c",
		},

		{"no prefix of a name", "1 2 0:3 /docker/ab /x ro - cgroup2 c rw\n", "0::/docker/abc\n", "", ""},
		{"outside of the namespace", unified, "0::/../other\n", "", ""},
		{"deleted", unified, "0::/a (deleted)\n", "", ""},
		{"not mounted", "31 23 0:28 / /tmp rw - tmpfs tmpfs rw\n", "0::/\n", "", ""},
		{"no such controller", hybrid, both, "pids", ""},
		{"only version 1", hybrid, "6:freezer:/\n", "", ""},
		{"a controller is no option of version 2", "1 2 0:3 / /x rw - cgroup2 c rw,freezer\n", both, "freezer", ""},
		{"nonsense", "x\n - \n1 2 3 - cgroup2\n", "x\n::\n0::/\n", "", ""},
	} {
		got, err := findCgroup(test.mounts, test.groups, test.controller)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}
