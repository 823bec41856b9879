package doctor

import (
	"errors"
	"strings"
	"syscall"

	"github.com/airlock-exec/airlock/protocol"
)

const (
	sandboxPurpose = "to confine commands and operations on files; without it whatever asks for a sandbox is refused"
	mountsPurpose  = "the sandbox: to build a root of its own for a command, read-only but for what may be written"
)

// sandboxTiers tells in which ways a program can be confined here: for each one a
// program is, by all of what a command goes through.
func (h *host) sandboxTiers() result {
	namespaces, landlock := h.confine(protocol.TierNamespaces), h.confine(protocol.TierLandlock)
	r := result{facts: map[string]any{"namespaces": namespaces == nil, "landlock": landlock == nil}}
	switch {
	case namespaces == nil && landlock == nil:
		r.status, r.found = OK, "a program could be confined by namespaces, and by Landlock alone"
	case namespaces == nil:
		r.status, r.found = OK, "a program could be confined by namespaces; by Landlock alone it could not: "+landlock.Error()
	case landlock == nil:
		r.status = Weaker
		r.found = "a program could be confined by Landlock alone, which does for simple policies: what it can't enforce is refused. " +
			"By namespaces it could not: " + namespaces.Error()
		r.mend = h.mendNamespaces(namespaces)
	default:
		r.status = Missing
		r.found = "no program could be confined: by namespaces: " + namespaces.Error() + "; by Landlock alone: " + landlock.Error()
		r.mend = h.mendNamespaces(namespaces)
	}
	return r
}

// mendNamespaces returns what to do about namespaces in which no program can be
// confined: the first thing that is in the way.
func (h *host) mendNamespaces(err error) string {
	for _, examine := range []func(*host) result{
		(*host).userNamespace, (*host).mountNamespace, (*host).ipcNamespace, (*host).networkNamespace,
		(*host).pidNamespace, (*host).mountCalls, (*host).seccompFilters, (*host).newPrivileges,
	} {
		if r := examine(h); r.status == Missing || r.status == Weaker && r.mend != "" && r.blocks {
			return r.mend
		}
	}
	label, _ := h.read("/proc/self/attr/current")
	profile, _, confined := strings.Cut(label, " (")
	switch {
	case isDenied(err) && confined && profile != "unconfined":
		return "The AppArmor profile " + profile + ", which this program runs under, is in the way: allow it mount, pivot_root and userns, " +
			"or start the container with `--security-opt apparmor=unconfined` (in Kubernetes appArmorProfile: {type: Unconfined})."
	case isDenied(err) && h.exists("/sys/fs/selinux/enforce"):
		return "SELinux may be in the way: `ausearch -m avc -ts recent` tells; `--security-opt label=disable` lets a container do it."
	case isDenied(err) && h.containerName() != "":
		return "Let the container do it: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, " +
			"or profiles that allow mount, pivot_root and new namespaces."
	}
	return "What has failed is told above; the kernel's log (dmesg) may have more about it."
}

// mountCalls tells whether the kernel has the calls that mounts are made by, and
// nothing forbids them to everybody.
func (h *host) mountCalls() result {
	err := h.mountAttributes()
	switch {
	case err == nil:
		return result{status: OK, found: "open_tree and mount_setattr can be called"}
	case isDenied(err), errors.Is(err, syscall.ENOSYS) && h.isFiltered():
		return result{
			status: Missing, found: err.Error(),
			mend: "Let the container's profile of system calls allow open_tree, move_mount, mount_setattr and fsopen: " +
				"`--security-opt seccomp=unconfined`, or a profile of your own.",
		}
	}
	return result{status: Missing, found: err.Error(), mend: "Use Linux 5.12 or newer."}
}
