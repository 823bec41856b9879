package doctor

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
)

var (
	// version1 is a host that has version 1 of control groups only.
	version1 = files{
		"/proc/self/mountinfo": "30 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
			"31 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
			"32 25 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n",
		"/proc/self/cgroup":                               "3:freezer:/f\n2:pids:/\n1:memory:/a/b\n",
		"/sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "104857600\n",
		"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
		"/sys/fs/cgroup/pids/pids.max":                    "100\n",
		"/sys/fs/cgroup/pids/pids.current":                "40\n",
	}
	// crowded is one where this program shares its group with others.
	crowded = files{
		"/sys/fs/cgroup/airlock/cgroup.subtree_control": "\n",
		"/sys/fs/cgroup/airlock/cgroup.procs":           "1\n4242\n",
	}
	// both is the same with the memory controller in version 1.
	both = files{
		"/proc/self/mountinfo": "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" +
			"30 25 0:27 / /sys/fs/cgroup/m rw - cgroup cgroup rw,memory\n",
		"/proc/self/cgroup":                             "1:memory:/x\n0::/airlock\n",
		"/sys/fs/cgroup/airlock/cgroup.subtree_control": "\n",
		"/sys/fs/cgroup/airlock/cgroup.procs":           "1\n4242\n",
	}
)

// readOnly makes the folders of control groups ones that can't be written to.
func readOnly(err error) func(*host) {
	return func(h *host) {
		h.writable = func(path string) error { return &os.PathError{Op: "write", Path: path, Err: err} }
	}
}

func TestControlGroups(t *testing.T) {
	t.Parallel()
	checkOutcomes(t, []outcome{
		{name: "version 2", probe: "control-groups", status: OK, found: "version 2 can be made in /sys/fs/cgroup/airlock", facts: map[string]any{"version2": "/sys/fs/cgroup/airlock"}},
		{name: "old kernel", probe: "control-groups", files: files{"/sys/fs/cgroup/airlock/cgroup.kill": gone}, status: Missing, found: "Linux 5.14", mend: "cgroup2"},
		{name: "version 1", probe: "control-groups", files: version1, status: Weaker, found: "(freezer, memory, pids); of version 2: the system has none", mend: "unified_cgroup_hierarchy=1", facts: map[string]any{"version1.memory": "/sys/fs/cgroup/memory/a/b"}},
		{name: "denied", probe: "control-groups", change: readOnly(syscall.EACCES), status: Missing, found: "permission denied", mend: "Delegate=yes"},
		{name: "read-only", probe: "control-groups", change: readOnly(syscall.EROFS), status: Missing, found: "read-only", mend: "unmask=/sys/fs/cgroup"},
		{name: "read-only version 1", probe: "control-groups", files: version1, change: readOnly(syscall.EROFS), status: Missing, found: "version 1: write /sys/fs/cgroup/freezer/f", mend: "CONFIG_CGROUPS"},
		{name: "none", probe: "control-groups", files: files{"/proc/self/cgroup": ""}, status: Missing, found: "has none", mend: "CONFIG_CGROUPS"},
		{name: "no /proc", probe: "control-groups", files: files{"/proc/self/cgroup": gone}, status: Missing, found: "no such file", mend: "Mount /proc"},
		{name: "not mounted", probe: "control-groups", files: files{"/proc/self/mountinfo": ""}, status: Missing, found: "not mounted here", mend: "--cgroupns private"},
		{name: "outside", probe: "control-groups", files: files{"/proc/self/cgroup": "0::/../other\n"}, status: Missing, found: "(/../other)", mend: "--cgroupns private"},
		{
			name: "a part is mounted", probe: "control-groups", status: OK, found: "made in /sys/fs/cgroup a/airlock",
			files: files{
				"/proc/self/mountinfo": "25 20 0:22 /docker/7 /sys/fs/cgroup\\040a rw - cgroup2 cgroup2 rw\nnonsense\n",
				"/proc/self/cgroup":    "0::/docker/7/airlock\n",
			},
		},

		{name: "version 2", probe: "memory-limit", status: OK, found: "version 2 in /sys/fs/cgroup/airlock", facts: map[string]any{"mechanism": "cgroup2"}},
		{name: "version 1", probe: "memory-limit", files: version1, status: OK, found: "version 1 in /sys/fs/cgroup/memory/a/b", facts: map[string]any{"mechanism": "cgroup1"}},
		{name: "crowded", probe: "memory-limit", files: crowded, status: Missing, found: "other processes are in it", mend: "systemd-run"},
		{name: "crowded, with version 1", probe: "memory-limit", files: both, status: OK, found: "version 1 in /sys/fs/cgroup/m/x", facts: map[string]any{"mechanism": "cgroup1"}},
		{
			name: "alone", probe: "memory-limit", status: OK, found: "once the daemon has moved", facts: map[string]any{"mechanism": "cgroup2"},
			files: files{"/sys/fs/cgroup/airlock/cgroup.subtree_control": "\n", "/sys/fs/cgroup/airlock/cgroup.procs": "4242\n"},
		},
		{
			name: "top of all", probe: "memory-limit", status: OK, found: "once it hands the controller on", facts: map[string]any{"mechanism": "cgroup2"},
			files: files{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.subtree_control": "\n"},
		},
		{
			name: "no controller", probe: "memory-limit", status: Missing, found: "no such controller (memory)", mend: "Delegate=memory",
			files: files{"/sys/fs/cgroup/airlock/cgroup.subtree_control": "pids", "/sys/fs/cgroup/airlock/cgroup.controllers": "pids"},
		},
		{name: "denied", probe: "memory-limit", change: readOnly(syscall.EACCES), status: Missing, found: "are refused; version 2 of control groups: write", mend: "Delegate=yes"},
		{name: "version 2", probe: "process-limit", status: OK, found: "version 2", facts: map[string]any{"mechanism": "cgroup2"}},
		{name: "denied", probe: "process-limit", files: version1, change: readOnly(syscall.EACCES), status: Missing, found: "version 1: write /sys/fs/cgroup/pids: permission", mend: "CONFIG_CGROUPS"},
	})
}

func TestRoom(t *testing.T) {
	t.Parallel()
	descriptors := func(n uint64, err error) func(*host) {
		return func(h *host) { h.descriptors = func() (uint64, error) { return n, err } }
	}
	processes := func(n uint64, uid int) func(*host) {
		return func(h *host) { h.processLimit, h.uid = func() (uint64, error) { return n, nil }, uid }
	}
	noProc := files{"/proc/sys/kernel/pid_max": gone, "/proc/sys/kernel/threads-max": gone, "/proc/self/cgroup": gone}
	checkOutcomes(t, []outcome{
		{name: "many", probe: "descriptors", status: OK, found: "about 174752 processes", facts: map[string]any{"limit": uint64(1 << 20)}},
		{name: "just enough", probe: "descriptors", change: descriptors(1024, nil), status: OK, found: "about 160 processes"},
		{name: "few", probe: "descriptors", change: descriptors(256, nil), status: Weaker, found: "about 32 processes", mend: "LimitNOFILE="},
		{name: "hardly any", probe: "descriptors", change: descriptors(20, nil), status: Weaker, found: "about 0 processes", mend: "ulimit"},
		{name: "unlimited", probe: "descriptors", change: descriptors(math.MaxUint64, nil), status: OK, found: "processes"},
		{name: "unknown", probe: "descriptors", change: descriptors(0, syscall.EPERM), status: Missing, found: "not permitted", mend: "ulimit"},

		{name: "of the user", probe: "processes", status: OK, found: "65536, by the limit of processes of this user", facts: map[string]any{"room": int64(65536)}},
		{name: "unlimited", probe: "processes", change: processes(math.MaxUint64, 1000), status: OK, found: "126000, by kernel.threads-max"},
		{name: "superuser", probe: "processes", change: processes(10, 0), status: OK, found: "126000, by kernel.threads-max"},
		{name: "few for the user", probe: "processes", change: processes(10, 1000), status: Weaker, found: "room for at most 10", mend: "LimitNPROC="},
		{name: "few of all", probe: "processes", files: files{"/proc/sys/kernel/pid_max": "301"}, status: Weaker, found: "by kernel.pid_max", mend: "kernel.pid_max=4194304"},
		{name: "version 1", probe: "processes", files: version1, status: Weaker, found: "60, by pids.max of /sys/fs/cgroup/pids", mend: "TasksMax="},
		{name: "version 2, further up", probe: "processes", files: files{"/sys/fs/cgroup/pids.max": "50", "/sys/fs/cgroup/pids.current": "70"}, status: Weaker, found: "at most 0, by pids.max of /sys/fs/cgroup", mend: "--pids-limit"},
		{name: "unknown", probe: "processes", files: noProc, change: processes(1, 0), status: Weaker, found: "not known", mend: "mount -t proc"},

		{name: "of the machine", probe: "memory", status: OK, found: "15 GiB, by what the machine has", facts: map[string]any{"limitBytes": int64(16384000000), "availableBytes": int64(8192000000)}},
		{name: "version 2", probe: "memory", files: files{"/sys/fs/cgroup/airlock/memory.max": "1073741824"}, status: OK, found: "1.0 GiB, by memory.max of /sys/fs/cgroup/airlock"},
		{name: "little", probe: "memory", files: files{"/sys/fs/cgroup/airlock/memory.max": "134217728"}, status: Weaker, found: "128 MiB", mend: "docker run --memory"},
		{name: "version 1, further up", probe: "memory", files: version1, status: Weaker, found: "100 MiB, by memory.limit_in_bytes of /sys/fs/cgroup/memory/a;", mend: "MemoryMax="},
		{name: "unknown", probe: "memory", files: files{"/proc/meminfo": gone}, status: Weaker, found: "not known", mend: "mount -t proc"},
		{name: "nonsense", probe: "memory", files: files{"/proc/meminfo": "MemTotal: lots kB"}, status: Weaker, found: "tells no total", mend: "mount -t proc"},
	})
}

func TestFolders(t *testing.T) {
	t.Parallel()
	temp := func(made tempFile, err error) func(*host) {
		return func(h *host) {
			h.openTemp = func(folder string) (tempFile, error) {
				if err != nil {
					err = &os.PathError{Op: "open", Path: folder, Err: err}
				}
				return made, err
			}
		}
	}
	free := func(n uint64, err error) func(*host) {
		return func(h *host) { h.free = func(string) (uint64, error) { return n, err } }
	}
	checkOutcomes(t, []outcome{
		{name: "ok", probe: "spill-folder", status: OK, found: "in /tmp; 1.0 TiB are free", facts: map[string]any{"folder": "/tmp", "nameless": true, "reserved": true, "freeBytes": uint64(1 << 40)}},
		{name: "named", probe: "spill-folder", change: temp(tempFile{}, nil), status: OK, found: "a name for a moment; room can't be reserved"},
		{name: "not for all", probe: "spill-folder", change: free(1<<30, nil), status: OK, found: "1.0 GiB are free, where all"},
		{name: "not for one", probe: "spill-folder", change: free(100<<20, nil), status: Weaker, found: "100 MiB are free, but one process may need 256 MiB", mend: "--spill-bytes"},
		{name: "unknown", probe: "spill-folder", change: free(0, syscall.ENOSYS), status: OK, found: "is not known: function not"},
		{name: "no folder", probe: "spill-folder", change: temp(tempFile{}, syscall.ENOENT), status: Missing, found: "open /tmp: no such", mend: "Make the folder /tmp, or"},
		{name: "denied", probe: "spill-folder", change: temp(tempFile{}, syscall.EACCES), status: Missing, found: "denied", mend: "chmod 1777"},
		{name: "read-only", probe: "spill-folder", change: temp(tempFile{}, syscall.EROFS), status: Missing, found: "read-only", mend: "--tmpfs /tmp"},
		{name: "full", probe: "spill-folder", change: temp(tempFile{}, syscall.EDQUOT), status: Missing, found: "quota", mend: "Make room"},
		{name: "odd", probe: "spill-folder", change: temp(tempFile{}, syscall.EIO), status: Missing, found: "input/output", mend: "See to"},
	})
}

// socketHost is a host on which folders are real: it has the temporary folder
// temp, and a runtime folder if that is not empty.
func socketHost(t *testing.T, runtime string) *host {
	t.Helper()
	h := fakeHost(t, nil)
	h.uid = os.Geteuid()
	h.temp = t.TempDir()
	h.env = func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return runtime
		}
		return ""
	}
	h.listen = listen
	return h
}

func TestControlFolder(t *testing.T) {
	t.Parallel()
	private := t.TempDir()
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(private, 0o700)
	open := t.TempDir()
	chmod(open, 0o777)
	long := t.TempDir() + "/" + strings.Repeat("x", 100)

	for _, test := range []struct {
		name    string
		runtime string
		change  func(h *host)
		status  Status
		folder  string // where it is; TEMP stands for the temporary folder
		found   string
	}{
		{"runtime folder", private, nil, OK, private + "/airlock", "and tell who connects"},
		{"none", "", nil, OK, "TEMP", ""},
		{"relative", "run", nil, OK, "TEMP", ""},
		{"not there", "/nowhere", nil, OK, "TEMP", "not in /nowhere/airlock: lstat /nowhere"},
		{"open to all", open, nil, OK, "TEMP", "can be written to by others"},
		{"too long", long, nil, OK, "TEMP", "too long"},
		{"a file", os.DevNull, nil, OK, "TEMP", "is not a folder"},
		{"nothing works", open, func(h *host) { h.temp = "/nowhere" }, Missing, "", "lstat /nowhere"},
		{"no sockets", private, func(h *host) { h.listen = func(string) error { return errors.New("no sockets") } }, Missing, "", "no sockets"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := socketHost(t, test.runtime)
			if test.change != nil {
				test.change(h)
			}
			r := h.controlFolder()
			folder := test.folder
			if folder == "TEMP" {
				folder = h.socketFolders()[len(h.socketFolders())-1]
				if !strings.HasPrefix(folder, h.temp+"/airlock-") {
					t.Errorf("the last resort is %s", folder)
				}
			}
			if r.status != test.status || !strings.Contains(r.found, test.found) || (r.mend != "") != (test.status == Missing) {
				t.Errorf("%+v", r)
			}
			if got, _ := r.facts["folder"].(string); got != folder {
				t.Errorf("the folder is %q, want %q", got, folder)
			}
			if left, err := os.ReadDir(h.temp); err == nil && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Cleanup(func() { // after all of them
		if left, err := os.ReadDir(private); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// A folder that is there already must be this user's alone, and is used as it is.
func TestOwnControlFolder(t *testing.T) {
	t.Parallel()
	for mode, works := range map[fs.FileMode]bool{0o700: true, 0o750: false, 0o707: false} {
		runtime := t.TempDir()
		if err := os.Chmod(runtime, 0o700); err != nil {
			t.Fatal(err)
		}
		h := socketHost(t, runtime)
		path := runtime + "/airlock"
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		err := h.trySocketFolder(path)
		if (err == nil) != works {
			t.Errorf("mode %o: %v", mode, err)
		}
		if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
			t.Errorf("mode %o: left behind: %v, %v", mode, left, err)
		}
	}
	// Nobody else's will do.
	h := socketHost(t, "")
	path := t.TempDir()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	h.uid++
	if _, err := ownFolder(path, h.uid); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("the folder of another user: %v", err)
	}
	if err := safeParent(path, h.uid); os.Geteuid() != 0 && err == nil {
		t.Error("a folder of another user would do for ours")
	}
}
