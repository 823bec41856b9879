package doctor

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate implements system. It forks a child with a user namespace of its own if
// inUser, and in that, or without, with the namespaces that flags name. The child
// goes no further: the program that it is to execute can't exist, and the error
// tells how far it got. What it had goes with it.
func isolate(inUser bool, flags uintptr) error {
	attr := &syscall.SysProcAttr{}
	if inUser {
		attr.Cloneflags = unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	// It needs privileges in the user namespace, of which some systems give one
	// that is of no use. Mounts are then made private, which needs them again.
	attr.Unshareflags = flags
	const nowhere = "/proc/self/stat/program"
	pid, err := syscall.ForkExec(nowhere, []string{"probe"}, &syscall.ProcAttr{Sys: attr})
	switch {
	case err == nil:
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return errors.New("the child has been killed")
	case errors.Is(err, syscall.ENOTDIR):
		return nil
	}
	return err
}

const (
	userPurpose    = "the sandbox: to confine commands without privileges on the host"
	mountPurpose   = "the sandbox: to show a command only those files that it may see"
	pidPurpose     = "the sandbox: to keep other processes out of a command's reach, and kill all of its own at once"
	ipcPurpose     = "the sandbox: to keep shared memory and queues of others out of reach"
	networkPurpose = "the sandbox: to leave a command no network but the policy proxy"
)

// userNamespace tells whether a user namespace can be made that gives privileges
// inside.
func (h *host) userNamespace() result {
	if err := h.isolate(true, 0); err != nil {
		return h.noUserNamespace("none can be made: ", err)
	}
	// One that is made all the same, but gives no privileges, is what AppArmor
	// leaves of them.
	if err := h.isolate(true, unix.CLONE_NEWUTS); err != nil {
		return h.noUserNamespace("one can be made, but gives no privileges inside: ", err)
	}
	return result{status: OK, found: "one can be made, and gives privileges inside"}
}

func (h *host) noUserNamespace(what string, err error) result {
	cause, mend := h.whyNoUserNamespace(err)
	return result{status: Missing, found: what + err.Error() + cause, mend: mend}
}

// whyNoUserNamespace returns what stands in the way, as far as that can be seen.
func (h *host) whyNoUserNamespace(err error) (cause, mend string) {
	if n, ok := h.number("/proc/sys/user/max_user_namespaces"); ok && n == 0 {
		return " (user.max_user_namespaces is 0)", "`sysctl -w user.max_user_namespaces=15000`, and put it into /etc/sysctl.d."
	}
	if n, ok := h.number("/proc/sys/kernel/unprivileged_userns_clone"); ok && n == 0 && h.uid != 0 {
		return " (kernel.unprivileged_userns_clone is 0)",
			"`sysctl -w kernel.unprivileged_userns_clone=1`, and put it into /etc/sysctl.d; or run Airlock as root."
	}
	if n, ok := h.number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); ok && n != 0 && h.uid != 0 {
		return " (kernel.apparmor_restrict_unprivileged_userns is on)",
			"Allow it to this program by an AppArmor profile for its path that says `userns,`, or to all by " +
				"`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`."
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return " (there are as many as may be, or they are nested too deeply)",
			"`sysctl -w user.max_user_namespaces=15000`; they can be nested 32 times."
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSYS):
		return " (the kernel has none)", "Use a kernel with CONFIG_USER_NS=y, as those of all larger distributions are."
	case h.isFiltered():
		return " (a filter of system calls is in force)",
			"Let the container's profile allow clone and unshare with new namespaces: `docker run --security-opt seccomp=unconfined` " +
				"or with a profile of your own, seccompProfile in Kubernetes; with systemd, look at RestrictNamespaces= and SystemCallFilter=."
	}
	return "", "Something forbids it that can't be seen from here: a chroot (use pivot_root), AppArmor or SELinux (look at the kernel's log)."
}

// mountNamespace tells whether a mount namespace can be made.
func (h *host) mountNamespace() result { return h.namespace("mnt", unix.CLONE_NEWNS) }

// ipcNamespace tells whether a namespace of System V IPC can be made.
func (h *host) ipcNamespace() result { return h.namespace("ipc", unix.CLONE_NEWIPC) }

// networkNamespace tells whether a network namespace can be made.
func (h *host) networkNamespace() result { return h.namespace("net", unix.CLONE_NEWNET) }

// pidNamespace tells whether a namespace of processes can be made, with a /proc
// of its own.
func (h *host) pidNamespace() result {
	r := h.namespace("pid", unix.CLONE_NEWPID)
	if r.status == Missing {
		return r
	}
	if covered := h.coveredProc(); covered != "" {
		r.status, r.blocks = Weaker, true
		r.found += "; but it can't have a /proc of its own, since parts of this one are covered (" + covered + ")"
		r.mend = "Start the container with the whole of /proc: `docker run --security-opt systempaths=unconfined`, " +
			"`podman run --security-opt unmask=ALL`, procMount: Unmasked in Kubernetes. " +
			"Or let commands see the host's processes: `airlock serve --sandbox-outer-proc`."
	}
	return r
}

// namespace tells whether a namespace of a kind can be made.
func (h *host) namespace(kind string, flag uintptr) result {
	inside := h.isolate(true, flag)
	if inside == nil {
		return result{status: OK, found: "one can be made in a user namespace"}
	}
	mend := "See to user namespaces first, which it takes."
	setting := "max_" + kind + "_namespaces"
	switch n, ok := h.number("/proc/sys/user/" + setting); {
	case h.isolate(true, 0) != nil: // so it is not about this kind
	case ok && n == 0:
		mend = fmt.Sprintf("`sysctl -w user.%s=15000`, and put it into /etc/sysctl.d.", setting)
	case errors.Is(inside, syscall.ENOSPC):
		mend = fmt.Sprintf("There are as many as may be: `sysctl -w user.%s=15000`.", setting)
	case errors.Is(inside, syscall.EINVAL):
		mend = "The kernel has none: use one with CONFIG_NAMESPACES=y and all of its parts."
	}
	if err := h.isolate(false, flag); err != nil {
		return result{status: Missing, found: "none can be made: " + inside.Error(), mend: mend}
	}
	return result{
		status: Weaker, mend: mend,
		found: "one can be made with this user's privileges, but not in a user namespace: " + inside.Error(),
	}
}

// empty are the folders of /proc that are there to be mounted on.
var empty = map[string]bool{"/proc/sys/fs/binfmt_misc": true, "/proc/fs/nfsd": true}

// coveredProc returns something that is mounted over a part of /proc, if there is
// any: then the kernel allows nobody in a user namespace to mount another, which
// would show what is covered.
func (h *host) coveredProc() string {
	for _, m := range h.mounts() {
		if strings.HasPrefix(m.point, "/proc/") && !empty[path.Clean(m.point)] {
			return m.point
		}
	}
	return ""
}
