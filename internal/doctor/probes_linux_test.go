package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
	"github.com/airlock-exec/airlock/protocol"
)

// filtered is a program whose system calls are judged by a filter.
var filtered = files{"/proc/self/status": "Name:\tairlock\nSeccomp:\t2\nSeccomp_filters:\t1\n"}

func TestProcesses(t *testing.T) {
	t.Parallel()
	terminal := func(err error) func(*host) {
		return func(h *host) {
			h.openTerminal = func() error { return &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err} }
		}
	}
	held := func(means tree.Means, why string, err error) func(*host) {
		return func(h *host) { h.openTrees = func() (tree.Means, string, error) { return means, why, err } }
	}
	warden := func(err error) func(*host) { return func(h *host) { h.startWarden = func() error { return err } } }
	pidfd := func(err error) func(*host) { return func(h *host) { h.pidfd = func() error { return err } } }
	checkOutcomes(t, []outcome{
		{name: "ok", probe: "terminals", status: OK, found: "(3 of 4096 are in use)", facts: map[string]any{"max": int64(4096), "inUse": int64(3)}},
		{name: "no numbers", probe: "terminals", files: files{"/proc/sys/kernel/pty/nr": gone}, status: OK, found: "can be opened"},
		{name: "few left", probe: "terminals", files: files{"/proc/sys/kernel/pty/nr": "4090"}, status: Weaker, found: "4090 of 4096", mend: "kernel.pty.max"},
		{name: "no device", probe: "terminals", change: terminal(syscall.ENOENT), status: Missing, found: "open /dev/ptmx: no such", mend: "mount -t devpts"},
		{name: "all in use", probe: "terminals", change: terminal(syscall.ENOSPC), status: Missing, found: "no space", mend: "kernel.pty.max"},
		{name: "denied", probe: "terminals", change: terminal(syscall.EACCES), status: Missing, found: "denied", mend: "--device-cgroup-rule"},
		{name: "odd", probe: "terminals", change: terminal(syscall.EIO), status: Missing, found: "input/output error", mend: "ptmxmode=0666"},

		{name: "cgroup2", probe: "trees", status: OK, found: "version 2 (cgroup2)", facts: map[string]any{"means": "cgroup2"}},
		{
			name: "freezer", probe: "trees", change: held(tree.Freezer, "cgroup2: not here", nil), status: OK,
			found: "version 1 (freezer); cgroup2: not here", facts: map[string]any{"why": "cgroup2: not here"},
		},
		{name: "walk", probe: "trees", change: held(tree.Walk, "cgroup2: no", nil), status: Weaker, found: "cgroup2: no", mend: "Delegate=yes"},
		{name: "group", probe: "trees", change: held(tree.Group, "", nil), status: Weaker, found: "only process groups", mend: "Delegate=yes"},
		{name: "job", probe: "trees", change: held(tree.Job, "", nil), status: OK, found: "job object"},
		{name: "new means", probe: "trees", change: held("magic", "", nil), status: OK, found: "by magic"},
		{name: "none", probe: "trees", change: held("", "", errors.New("cannot hold processes together by magic")), status: Missing, found: "by magic", mend: "no command"},

		{name: "ok", probe: "helper", status: OK, found: "can be executed"},
		{name: "none", probe: "helper", change: warden(helper.ErrNoHelper), status: Weaker, found: "contains no helper", mend: "make build"},
		{name: "refused", probe: "helper", change: warden(syscall.EACCES), status: Weaker, found: "permission denied", mend: "vm.memfd_noexec"},

		{name: "ok", probe: "pidfd", status: OK, found: "pidfd_open"},
		{name: "old kernel", probe: "pidfd", change: pidfd(syscall.ENOSYS), status: Weaker, found: "not implemented", mend: "newer kernel"},
		{name: "filtered", probe: "pidfd", files: filtered, change: pidfd(syscall.ENOSYS), status: Weaker, found: "not implemented", mend: "filter of the container"},

		{name: "ok", probe: "subreaper", status: OK, found: "can be asked for"},
		{name: "process 1", probe: "subreaper", change: func(h *host) { h.pid = 1 }, status: OK, found: "process 1"},
		{
			name: "refused", probe: "subreaper", change: func(h *host) { h.subreaper = func() (bool, error) { return false, syscall.EPERM } },
			status: Weaker, found: "not permitted", mend: "prctl",
		},
	})
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	// refuse makes namespaces fail: all user namespaces, those with one of flags
	// in a user namespace, and those without one.
	refuse := func(user error, flags uintptr, inside, direct error) func(*host) {
		return func(h *host) {
			h.isolate = func(inUser bool, f uintptr) error {
				switch {
				case inUser && user != nil:
					return user
				case inUser && f&flags != 0:
					return inside
				case !inUser:
					return direct
				}
				return nil
			}
		}
	}
	none := refuse(syscall.EPERM, 0, nil, syscall.EPERM)
	// appArmor is what is left of user namespaces by its restriction.
	appArmor := refuse(nil, ^uintptr(0), syscall.EPERM, syscall.EPERM)
	sysctl := func(name, value string) files { return files{"/proc/sys/" + name: value} }
	asRoot := func(change func(*host)) func(*host) { return func(h *host) { change(h); h.uid = 0 } }
	checkOutcomes(t, []outcome{
		{name: "ok", probe: "user-namespace", status: OK, found: "gives privileges"},
		{name: "max 0", probe: "user-namespace", files: sysctl("user/max_user_namespaces", "0"), change: refuse(syscall.ENOSPC, 0, nil, nil), status: Missing, found: "is 0", mend: "user.max_user_namespaces=15000"},
		{name: "debian", probe: "user-namespace", files: sysctl("kernel/unprivileged_userns_clone", "0"), change: none, status: Missing, found: "unprivileged_userns_clone is 0", mend: "unprivileged_userns_clone=1"},
		{name: "debian as root", probe: "user-namespace", files: sysctl("kernel/unprivileged_userns_clone", "0"), change: asRoot(none), status: Missing, found: "none can be made", mend: "can't be seen from here"},
		{name: "ubuntu", probe: "user-namespace", files: sysctl("kernel/apparmor_restrict_unprivileged_userns", "1"), change: appArmor, status: Missing, found: "no privileges inside", mend: "userns,"},
		{name: "filtered", probe: "user-namespace", files: filtered, change: none, status: Missing, found: "filter", mend: "seccomp=unconfined"},
		{name: "too many", probe: "user-namespace", change: refuse(syscall.ENOSPC, 0, nil, nil), status: Missing, found: "as many as may be", mend: "nested 32 times"},
		{name: "not built", probe: "user-namespace", change: refuse(syscall.EINVAL, 0, nil, nil), status: Missing, found: "kernel has none", mend: "CONFIG_USER_NS"},
		{name: "unknown", probe: "user-namespace", change: none, status: Missing, found: "none can be made", mend: "chroot"},

		{name: "ok", probe: "mount-namespace", status: OK, found: "in a user namespace"},
		{name: "none", probe: "mount-namespace", change: none, status: Missing, found: "none can be made", mend: "user namespaces first"},
		{name: "as root only", probe: "ipc-namespace", change: refuse(syscall.EPERM, 0, nil, nil), status: Weaker, found: "privileges, but not", mend: "user namespaces first"},
		{name: "too many users", probe: "mount-namespace", change: refuse(syscall.ENOSPC, 0, nil, nil), status: Weaker, found: "no space", mend: "user namespaces first"},
		{name: "max 0", probe: "network-namespace", files: sysctl("user/max_net_namespaces", "0"), change: refuse(nil, unix.CLONE_NEWNET, syscall.ENOSPC, syscall.ENOSPC), status: Missing, found: "no space", mend: "user.max_net_namespaces=15000"},
		{name: "too many", probe: "network-namespace", change: refuse(nil, unix.CLONE_NEWNET, syscall.ENOSPC, syscall.EPERM), status: Missing, found: "no space", mend: "as many as may be"},
		{name: "not built", probe: "network-namespace", change: refuse(nil, unix.CLONE_NEWNET, syscall.EINVAL, syscall.EINVAL), status: Missing, found: "invalid", mend: "CONFIG_NAMESPACES"},
		{name: "others", probe: "mount-namespace", change: refuse(nil, unix.CLONE_NEWNET, syscall.EINVAL, syscall.EINVAL), status: OK, found: "in a user namespace"},

		{name: "ok", probe: "pid-namespace", status: OK, found: "in a user namespace"},
		{name: "none", probe: "pid-namespace", change: none, status: Missing, found: "none can be made", mend: "user namespaces first"},
		{
			name: "masked", probe: "pid-namespace", status: Weaker, found: "(/proc/kcore)", mend: "systempaths=unconfined",
			files: files{"/proc/self/mountinfo": "30 20 0:5 / /proc rw - proc proc rw\n31 30 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"},
		},
		{
			name: "mounted as meant", probe: "pid-namespace", status: OK, found: "in a user namespace",
			files: files{"/proc/self/mountinfo": "30 20 0:5 / /proc rw - proc proc rw\n31 30 0:6 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"},
		},
	})
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	tiers := func(namespaces, landlock error, more ...func(*host)) func(*host) {
		return func(h *host) {
			h.confine = func(tier protocol.SandboxTier) error {
				if tier == protocol.TierNamespaces {
					return namespaces
				}
				return landlock
			}
			for _, change := range more {
				change(h)
			}
		}
	}
	calls := func(err error) func(*host) { return func(h *host) { h.mountAttributes = func() error { return err } } }
	noUsers := func(h *host) { h.isolate = func(bool, uintptr) error { return syscall.EPERM } }
	mounts := fmt.Errorf("mounts: %w", syscall.EPERM)
	no := errors.New("no")
	both := func(namespaces, landlock bool) map[string]any {
		return map[string]any{"namespaces": namespaces, "landlock": landlock}
	}
	checkOutcomes(t, []outcome{
		{name: "both", probe: "sandbox", status: OK, found: "by namespaces, and by Landlock alone", facts: both(true, true)},
		{name: "no landlock", probe: "sandbox", change: tiers(nil, no), status: OK, found: "it could not: no", facts: both(true, false)},
		{name: "no namespaces", probe: "sandbox", change: tiers(no, nil, noUsers), status: Weaker, found: "could not: no", mend: "chroot", facts: both(false, true)},
		{
			name: "ubuntu", probe: "sandbox", files: files{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
			change: tiers(no, no, noUsers), status: Missing, found: "by namespaces: no; by Landlock alone: no", mend: "userns,", facts: both(false, false),
		},
		{
			name: "masked proc", probe: "sandbox", change: tiers(mounts, nil), status: Weaker, found: "mounts:", mend: "--sandbox-outer-proc",
			files: files{"/proc/self/mountinfo": "31 30 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"},
		},
		{name: "old kernel", probe: "sandbox", change: tiers(no, no, calls(syscall.ENOSYS)), status: Missing, found: "no", mend: "Linux 5.12"},
		{
			name: "profile", probe: "sandbox", change: tiers(mounts, nil), files: files{"/proc/self/attr/current": "docker-default (enforce)\n"},
			status: Weaker, found: "mounts:", mend: "profile docker-default,",
		},
		{
			name: "no profile", probe: "sandbox", change: tiers(mounts, nil), files: files{"/proc/self/attr/current": "unconfined\n"},
			status: Weaker, found: "mounts:", mend: "dmesg",
		},
		{name: "selinux", probe: "sandbox", change: tiers(mounts, nil), files: files{"/sys/fs/selinux/enforce": "1"}, status: Weaker, found: "mounts:", mend: "label=disable"},
		{name: "container", probe: "sandbox", change: tiers(mounts, nil), files: files{"/.dockerenv": ""}, status: Weaker, found: "mounts:", mend: "apparmor=unconfined"},
		{name: "unknown", probe: "sandbox", change: tiers(no, nil), status: Weaker, found: "no", mend: "dmesg"},

		{name: "ok", probe: "mounts", status: OK, found: "can be called"},
		{name: "old kernel", probe: "mounts", change: calls(syscall.ENOSYS), status: Missing, found: "not implemented", mend: "5.12"},
		{name: "filtered", probe: "mounts", files: filtered, change: calls(syscall.ENOSYS), status: Missing, found: "not implemented", mend: "mount_setattr"},
		{name: "refused", probe: "mounts", change: calls(syscall.EPERM), status: Missing, found: "not permitted", mend: "mount_setattr"},
	})
}

func TestConfinement(t *testing.T) {
	t.Parallel()
	landlock := func(version int, err error) func(*host) {
		return func(h *host) { h.landlock = func() (int, error) { return version, err } }
	}
	action := func(action uint32, err error) func(*host) {
		return func(h *host) {
			h.seccompAction = func(a uint32) error {
				if a == action {
					return err
				}
				return nil
			}
		}
	}
	checkOutcomes(t, []outcome{
		{name: "new", probe: "landlock", status: OK, found: "version 7", facts: map[string]any{"version": 7}},
		{name: "6", probe: "landlock", change: landlock(6, nil), status: OK, found: "version 6"},
		{name: "debian 12", probe: "landlock", change: landlock(2, nil), status: Weaker, found: "does not confine truncating files, TCP ports, commands", mend: "Linux 6.12"},
		{name: "1", probe: "landlock", change: landlock(1, nil), status: Weaker, found: "moving files", mend: "Linux 6.12"},
		{name: "off", probe: "landlock", change: landlock(0, syscall.EOPNOTSUPP), status: Missing, found: "not supported", mend: "followed by"},
		{
			name: "off, with others", probe: "landlock", change: landlock(0, syscall.EOPNOTSUPP), files: files{"/sys/kernel/security/lsm": "lockdown,yama\n"},
			status: Missing, found: "not supported", mend: "lsm=landlock,lockdown,yama.",
		},
		{name: "old", probe: "landlock", change: landlock(0, syscall.ENOSYS), status: Missing, found: "not implemented", mend: "Linux 5.13"},
		{name: "filtered", probe: "landlock", files: filtered, change: landlock(0, syscall.EPERM), status: Missing, found: "not permitted", mend: "profile"},

		{name: "ok", probe: "seccomp", status: OK, found: "user_notif, new_listener, wait_killable_recv; none is in force", facts: map[string]any{"filtered": false}},
		{name: "filtered", probe: "seccomp", files: filtered, status: OK, found: "in force here already: 1", facts: map[string]any{"filtered": true}},
		{name: "filtered, uncounted", probe: "seccomp", files: files{"/proc/self/status": "Seccomp:\t2\n"}, status: OK, found: "one in force"},
		{name: "no notification", probe: "seccomp", change: action(unix.SECCOMP_RET_USER_NOTIF, syscall.EOPNOTSUPP), status: Weaker, found: "not user_notif", mend: "5.0"},
		{name: "no listener", probe: "seccomp", change: func(h *host) { h.seccompFlag = func(uintptr) error { return syscall.EINVAL } }, status: Weaker, found: "not new_listener, wait_killable_recv", mend: "5.19"},
		{name: "none", probe: "seccomp", change: action(unix.SECCOMP_RET_ERRNO, syscall.ENOSYS), status: Missing, found: "can't do errno", mend: "CONFIG_SECCOMP_FILTER"},

		{name: "ok", probe: "no-new-privs", status: OK, found: "can be set", facts: map[string]any{"set": false}},
		{name: "set", probe: "no-new-privs", change: func(h *host) { h.noNewPrivs = func() (bool, error) { return true, nil } }, status: OK, found: "sudo"},
		{name: "refused", probe: "no-new-privs", change: func(h *host) { h.noNewPrivs = func() (bool, error) { return false, syscall.EPERM } }, status: Missing, found: "not permitted", mend: "prctl"},
	})
}

func TestSystem(t *testing.T) {
	t.Parallel()
	release := func(r string) func(*host) { return func(h *host) { h.release = r } }
	env := func(name, value string) func(*host) {
		return func(h *host) {
			h.env = func(n string) string {
				if n == name {
					return value
				}
				return ""
			}
		}
	}
	is := func(name string) map[string]any { return map[string]any{"container": name} }
	checkOutcomes(t, []outcome{
		{name: "new", probe: "kernel", status: OK, found: "Linux 6.12.3-amd64", facts: map[string]any{"release": "6.12.3-amd64"}},
		{name: "just new enough", probe: "kernel", change: release("5.14.0-427.el9"), status: OK, found: "5.14.0"},
		{name: "old", probe: "kernel", change: release("5.10-rc1"), status: Weaker, found: "no means to close inherited files at once, to kill a control", mend: "5.14"},
		{name: "ancient", probe: "kernel", change: release("3.10.0"), status: Weaker, found: "without a thread", mend: "5.14"},
		{name: "nonsense", probe: "kernel", change: release("six"), status: Weaker, found: `"six"`, mend: "5.14"},

		{name: "none", probe: "container", status: OK, found: "no sign of a container; process 1 is systemd", facts: is("")},
		{name: "docker", probe: "container", files: files{"/.dockerenv": ""}, status: OK, found: "(docker)", facts: is("docker")},
		{name: "podman", probe: "container", files: files{"/run/.containerenv": "", "/.dockerenv": ""}, status: OK, found: "(podman)", facts: is("podman")},
		{name: "nspawn", probe: "container", files: files{"/run/systemd/container": "systemd-nspawn\n"}, status: OK, found: "(systemd-nspawn)", facts: is("systemd-nspawn")},
		{name: "kubernetes", probe: "container", files: files{"/.dockerenv": ""}, change: env("KUBERNETES_SERVICE_HOST", "10.0.0.1"), status: OK, found: "(kubernetes)", facts: is("kubernetes")},
		{name: "environment", probe: "container", change: env("container", "lxc"), status: OK, found: "(lxc)", facts: is("lxc")},
		{name: "environment of process 1", probe: "container", files: files{"/proc/1/environ": "A=b\x00container=lxc\x00"}, status: OK, found: "(lxc)", facts: is("lxc")},
		{name: "groups", probe: "container", files: files{"/proc/1/cgroup": "0::/kubepods/besteffort\n"}, status: OK, found: "(kubepods)", facts: is("kubepods")},
		{name: "process 1, filtered", probe: "container", files: filtered, change: func(h *host) { h.pid = 1 }, status: OK, found: "this program is process 1; system calls are filtered", facts: map[string]any{"pid": 1}},
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	h := fakeHost(t, files{"/proc/self/status": "Name:\tSeccomp: 9\nSeccomp:\t2\nSeccomp_filters:\t3"})
	for field, want := range map[string]string{"Name": "Seccomp: 9", "Seccomp": "2", "Seccomp_filters": "3", "Nothing": ""} {
		if got := h.status(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if name := strings.TrimSpace(fakeHost(t, files{"/proc/self/status": gone}).status("Name")); name != "" {
		t.Errorf("without the file the name is %q", name)
	}
}
