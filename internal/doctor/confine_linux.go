package doctor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const landlockPurpose = "the sandbox: confines files where user namespaces are refused, and on top of them"

// landlockLevels are what versions of Landlock's interface have brought that the
// sandbox can make use of.
var landlockLevels = []struct {
	version int
	kernel  string
	what    string
}{
	{2, "5.19", "moving files between folders"},
	{3, "6.2", "truncating files"},
	{4, "6.7", "TCP ports"},
	{5, "6.10", "commands to devices"},
	{6, "6.12", "signals and abstract sockets"},
}

// landlockLevel tells which version of Landlock there is.
func (h *host) landlockLevel() result {
	version, err := h.landlock()
	if err != nil {
		return result{status: Missing, found: err.Error(), mend: h.mendLandlock(err)}
	}
	r := result{status: OK, found: fmt.Sprintf("its interface has version %d", version), facts: map[string]any{"version": version}}
	var lacks []string
	kernel := ""
	for _, level := range landlockLevels {
		if version < level.version {
			lacks, kernel = append(lacks, level.what), level.kernel
		}
	}
	if len(lacks) > 0 {
		r.status = Weaker
		r.found += ", which does not confine " + strings.Join(lacks, ", ") + "; the sandbox needs version 6 to do without namespaces"
		r.mend = "Use Linux " + kernel + " or newer."
	}
	return r
}

func (h *host) mendLandlock(err error) string {
	lsm, lsmErr := h.read("/sys/kernel/security/lsm")
	switch {
	case errors.Is(err, syscall.EOPNOTSUPP) && lsmErr == nil && lsm != "":
		return "The kernel has it, but it is off: boot with lsm=landlock," + lsm + "."
	case errors.Is(err, syscall.EOPNOTSUPP):
		return "The kernel has it, but it is off: boot with lsm=landlock, followed by what /sys/kernel/security/lsm lists."
	case isDenied(err), errors.Is(err, syscall.ENOSYS) && h.isFiltered():
		return "Let the container's profile of system calls allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self, " +
			"as those of newer runtimes do, on Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y."
	default:
		return "Use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y."
	}
}

const seccompPurpose = "the sandbox: to refuse system calls, and to judge some of them in the daemon"

// seccompActions are those that filters of the sandbox use.
var seccompActions = []struct {
	name   string
	action uint32
	needed bool
}{
	{"errno", unix.SECCOMP_RET_ERRNO, true},
	{"allow", unix.SECCOMP_RET_ALLOW, true},
	{"kill_process", unix.SECCOMP_RET_KILL_PROCESS, false},
	{"user_notif", unix.SECCOMP_RET_USER_NOTIF, false},
}

// seccompFlags are those of a listener, which user_notif takes.
var seccompFlags = []struct {
	name string
	flag uintptr
}{
	{"new_listener", unix.SECCOMP_FILTER_FLAG_NEW_LISTENER},
	// Before Linux 5.19 a signal to the child repeats what is being judged.
	{"wait_killable_recv", unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV},
}

// seccompFilters tells what filters of system calls can do.
func (h *host) seccompFilters() result {
	var can, lacks []string
	for _, a := range seccompActions {
		err := h.seccompAction(a.action)
		switch {
		case err == nil:
			can = append(can, a.name)
		case a.needed:
			return result{
				status: Missing, found: "filters can't do " + a.name + ": " + err.Error(),
				mend: "Use a kernel with CONFIG_SECCOMP_FILTER=y, 4.14 or newer; in a container, let the profile of system calls allow seccomp.",
			}
		default:
			lacks = append(lacks, a.name)
		}
	}
	for _, f := range seccompFlags {
		if h.seccompFlag(f.flag) == nil {
			can = append(can, f.name)
		} else {
			lacks = append(lacks, f.name)
		}
	}
	filters := h.status("Seccomp_filters")
	r := result{
		status: OK, found: "filters can do " + strings.Join(can, ", "),
		facts: map[string]any{"available": can, "filtered": h.isFiltered()},
	}
	if len(lacks) > 0 {
		r.status, r.mend = Weaker, "kill_process came with Linux 4.14, user_notif and new_listener with 5.0, wait_killable_recv with 5.19."
		r.found += ", not " + strings.Join(lacks, ", ")
	}
	switch {
	case !h.isFiltered():
		r.found += "; none is in force"
	case filters != "":
		r.found += "; in force here already: " + filters
	default:
		r.found += "; there is one in force here already"
	}
	return r
}

const noNewPrivsPurpose = "the sandbox: to keep set-user-id programs from getting out, and to have filters without privileges"

// newPrivileges tells whether gaining privileges can be given up.
func (h *host) newPrivileges() result {
	is, err := h.noNewPrivs()
	if err != nil {
		return result{
			status: Missing, found: err.Error(),
			mend: "It came with Linux 3.5; in a container, let the profile of system calls allow prctl.",
		}
	}
	r := result{status: OK, found: "no_new_privs can be set", facts: map[string]any{"set": is}}
	if is {
		r.found = "no_new_privs is set here already: sudo and the like do not work in commands"
	}
	return r
}
