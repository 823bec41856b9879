package doctor

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/protocol"
)

// files are files of a made-up host by path. One whose content is "/" is a folder.
type files map[string]string

// fakeHost is a host that lacks nothing: version 2 of control groups with this
// program in a group of its own, an ordinary user, a recent kernel.
func fakeHost(t *testing.T, more files) *host {
	t.Helper()
	root := t.TempDir()
	all := files{
		"/proc/self/mountinfo":                          "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
		"/proc/self/cgroup":                             "0::/airlock\n",
		"/proc/self/status":                             "Name:\tairlock\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n",
		"/proc/meminfo":                                 "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n",
		"/proc/1/comm":                                  "systemd\n",
		"/proc/sys/kernel/pty/max":                      "4096\n",
		"/proc/sys/kernel/pty/nr":                       "3\n",
		"/proc/sys/kernel/pid_max":                      "4194304\n",
		"/proc/sys/kernel/threads-max":                  "126000\n",
		"/proc/sys/user/max_user_namespaces":            "63000\n",
		"/proc/sys/user/max_net_namespaces":             "63000\n",
		"/sys/fs/cgroup/cgroup.controllers":             "memory pids\n",
		"/sys/fs/cgroup/airlock/cgroup.type":            "domain\n",
		"/sys/fs/cgroup/airlock/cgroup.kill":            "",
		"/sys/fs/cgroup/airlock/cgroup.controllers":     "memory pids\n",
		"/sys/fs/cgroup/airlock/cgroup.subtree_control": "memory pids\n",
		"/sys/fs/cgroup/airlock/memory.max":             "max\n",
		"/sys/fs/cgroup/airlock/pids.max":               "max\n",
	}
	maps.Copy(all, more)
	for path, content := range all {
		path = filepath.Join(root, path)
		if content == gone {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := &host{
		root: root, uid: 1000, temp: "/tmp",
		env:          func(string) string { return "" },
		openTerminal: func() error { return nil },
		openTrees:    func() (tree.Means, string, error) { return tree.Cgroup2, "", nil },
		openTemp:     func(string) (tempFile, error) { return tempFile{nameless: true, reserved: true}, nil },
		listen:       func(string) error { return nil },
		free:         func(string) (uint64, error) { return 1 << 40, nil },
		descriptors:  func() (uint64, error) { return 1 << 20, nil },
	}
	h.system = system{
		release: "6.12.3-amd64", pid: 4242,
		writable:    func(string) error { return nil },
		startWarden: func() error { return nil },
		pidfd:       func() error { return nil },
		subreaper:   func() (bool, error) { return false, nil },
		isolate:     func(bool, uintptr) error { return nil },
		confine:     func(protocol.SandboxTier) error { return nil },

		mountAttributes: func() error { return nil },
		landlock:        func() (int, error) { return 7, nil },
		seccompAction:   func(uint32) error { return nil },
		seccompFlag:     func(uintptr) error { return nil },
		noNewPrivs:      func() (bool, error) { return false, nil },
		processLimit:    func() (uint64, error) { return 1 << 16, nil },
	}
	return h
}

// gone as the content of a file takes it away.
const gone = "\x00gone"

// outcome is what a probe is to make of a host.
type outcome struct {
	name   string
	probe  string
	files  files
	change func(*host)
	status Status
	found  string // a part of it
	mend   string // a part of it; if empty there must be none
	facts  map[string]any
}

func checkOutcomes(t *testing.T, outcomes []outcome) {
	t.Helper()
	known := map[string]probe{}
	for _, p := range probes() {
		known[p.name] = p
	}
	for _, test := range outcomes {
		t.Run(test.probe+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			h := fakeHost(t, test.files)
			if test.change != nil {
				test.change(h)
			}
			p, ok := known[test.probe]
			if !ok {
				t.Fatal("there is no such probe")
			}
			got := p.examine(h)
			if got.status != test.status {
				t.Errorf("status %q, want %q", got.status, test.status)
			}
			if !strings.Contains(got.found, test.found) {
				t.Errorf("found %q, want %q in it", got.found, test.found)
			}
			if !strings.Contains(got.mend, test.mend) || test.mend == "" && got.mend != "" {
				t.Errorf("mend %q, want %q in it", got.mend, test.mend)
			}
			if got.status != OK && got.mend == "" {
				t.Error("how is it to be mended?")
			}
			for name, want := range test.facts {
				if got.facts[name] != want {
					t.Errorf("fact %s is %#v, want %#v", name, got.facts[name], want)
				}
			}
		})
	}
}

// On a host that lacks nothing everything is fine.
func TestPerfectHost(t *testing.T) {
	t.Parallel()
	h := fakeHost(t, nil)
	h.temp = filepath.Join(h.root, "tmp")
	h.uid = os.Geteuid()
	if err := os.Mkdir(h.temp, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := examine(t.Context(), h, probes())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Status != OK || c.Found == "" || c.Mend != "" {
			t.Errorf("%+v", c)
		}
	}
}
