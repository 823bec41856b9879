package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/airlock-exec/airlock/internal/helper"
)

const strongerTrees = "Let Airlock make control groups. With systemd: Delegate=yes in the unit of `airlock serve`, or " +
	"`systemd-run --user --scope -p Delegate=yes airlock serve`. In a container, have /sys/fs/cgroup writable: " +
	"`docker run --privileged`, `podman run --security-opt unmask=/sys/fs/cgroup`, cgroup_writable of containerd. Elsewhere: " +
	"as root, make a group for this user below /sys/fs/cgroup, chown it, and start Airlock in it. " +
	"For version 2 it takes Linux 5.14."

const terminalsPurpose = "for commands with a terminal (airlock run -t, tty of process/start)"

// fewTerminals is less than what a busy session may need.
const fewTerminals = 64

// terminals tells whether terminals can be opened, and how many.
func (h *host) terminals() result {
	if err := h.openTerminal(); err != nil {
		return result{status: Missing, found: "no terminal can be opened: " + err.Error(), mend: mendTerminals(err)}
	}
	r := result{status: OK, found: "a terminal can be opened, and passes on what is written", facts: map[string]any{}}
	most, ok := h.number("/proc/sys/kernel/pty/max")
	used, also := h.number("/proc/sys/kernel/pty/nr")
	if ok && also {
		r.found += fmt.Sprintf(" (%d of %d are in use)", used, most)
		r.facts["max"], r.facts["inUse"] = most, used
		if most-used < fewTerminals {
			r.status = Weaker
			r.mend = "Close terminals that nobody uses, or allow more: `sysctl -w kernel.pty.max=4096`."
		}
	}
	return r
}

func mendTerminals(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Mount the file system of terminals: `mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts`, " +
			"and `ln -s pts/ptmx /dev/ptmx`."
	case errors.Is(err, syscall.ENOSPC):
		return "All terminals are in use: allow more by `sysctl -w kernel.pty.max=4096`, and look at max= of the mount at /dev/pts."
	case isDenied(err):
		return "`chmod 666 /dev/ptmx /dev/pts/ptmx`; in a container, have the device allowed: " +
			"`docker run --device-cgroup-rule 'c 5:2 rwm'`, DeviceAllow=char-pts in a systemd unit."
	default:
		return "See to /dev/ptmx, and that devpts is mounted at /dev/pts with ptmxmode=0666."
	}
}

const helperPurpose = "the warden: removes what a daemon leaves behind that has been killed"

// helperStarts tells whether the helper can be executed.
func (h *host) helperStarts() result {
	err := h.startWarden()
	switch {
	case err == nil:
		return result{status: OK, found: "the helper can be executed, and waits as warden"}
	case errors.Is(err, helper.ErrNoHelper):
		return result{
			status: Weaker, found: "this program contains no helper; what a killed daemon leaves is removed at the next start only",
			mend: "Use a release, or build by `make build`.",
		}
	default:
		return result{
			status: Weaker, found: "the helper does not start, so what a killed daemon leaves is removed at the next start only: " + err.Error(),
			mend: "Let programs be executed from memory (`sysctl -w vm.memfd_noexec=0`) and by /proc/self/exe: /proc has to be mounted, " +
				"and no security module (AppArmor, SELinux, fapolicyd) may forbid it.",
		}
	}
}

const pidfdPurpose = "to wait for processes without a thread for each, and to signal none that has taken a dead one's number"

// pidfds tells whether there are descriptors of processes.
func (h *host) pidfds() result {
	err := h.pidfd()
	if err == nil {
		return result{status: OK, found: "pidfd_open and pidfd_send_signal work"}
	}
	r := result{status: Weaker, found: "each process takes a thread: " + err.Error(), mend: "They came with Linux 5.3: use a newer kernel."}
	if h.isFiltered() && (isDenied(err) || errors.Is(err, syscall.ENOSYS)) {
		r.mend = "A filter of the container forbids them: use a newer container runtime, or `--security-opt seccomp=` with a profile that " +
			"allows pidfd_open and pidfd_send_signal. They came with Linux 5.3."
	}
	return r
}

const subreaperPurpose = "to keep orphans in reach where trees are held together by walk"

// subreapers tells whether the daemon can become the parent of orphans.
func (h *host) subreapers() result {
	_, err := h.subreaper()
	if err != nil {
		return result{
			status: Weaker, found: "it can't be asked for: " + err.Error(),
			mend: "It came with Linux 3.4; in a container, let the profile of system calls allow prctl.",
		}
	}
	found := "it can be asked for"
	if h.pid == 1 {
		found = "this program is process 1, so it gets orphans anyway"
	}
	return result{status: OK, found: found}
}
