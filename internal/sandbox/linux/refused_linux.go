package linux

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// noNamespaces says why namespaces are refused, as far as that can be seen, and what
// to do about it.
func noNamespaces(what string, err error) string {
	cause, mend := whyRefused(err)
	if cause != "" {
		what += " (" + cause + ")"
	}
	return what + ". " + mend
}

// setting is a number in /proc/sys that may refuse user namespaces.
type setting struct {
	name    string
	refuses func(n int) bool
	others  bool // it is about ordinary users
	mend    string
}

var settings = []setting{
	{
		name: "user.max_user_namespaces", refuses: func(n int) bool { return n == 0 },
		mend: "`sysctl -w user.max_user_namespaces=15000`, and put it into /etc/sysctl.d",
	},
	{
		name: "kernel.unprivileged_userns_clone", refuses: func(n int) bool { return n == 0 }, others: true,
		mend: "`sysctl -w kernel.unprivileged_userns_clone=1`, and put it into /etc/sysctl.d; or run Airlock as root",
	},
	{
		name: "kernel.apparmor_restrict_unprivileged_userns", refuses: func(n int) bool { return n != 0 }, others: true,
		mend: "Allow it to this program by an AppArmor profile for its path that says `userns,`, or to all by " +
			"`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
	},
}

// whyRefused returns what stands in the way.
func whyRefused(err error) (cause, mend string) {
	for _, s := range settings {
		if n, ok := sysctl(s.name); ok && s.refuses(n) && (!s.others || os.Geteuid() != 0) {
			return s.name + " is " + strconv.Itoa(n), s.mend
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return "there are as many as may be, or they are nested too deeply",
			"Raise user.max_user_namespaces and the other limits in /proc/sys/user; they can be nested 32 times"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSYS):
		return "the kernel has none", "Use a kernel with CONFIG_USER_NS=y, as those of all larger distributions are"
	case isFiltered():
		return "a filter of system calls is in force",
			"Let the container's profile allow clone with new namespaces, mounting and pivot_root: " +
				"`docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined` or with profiles of your own, " +
				"seccompProfile in Kubernetes; with systemd, look at RestrictNamespaces= and SystemCallFilter=. " +
				"Inside another sandbox it takes one that allows nesting"
	}
	return "", "Something forbids it that can't be seen from here: a chroot (use pivot_root), AppArmor or SELinux (look at the kernel's log)"
}

// sysctl reads a number.
func sysctl(name string) (int, bool) {
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return n, err == nil
}

// isFiltered tells whether a filter of system calls is in force for this program.
func isFiltered() bool {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil && mode != 0
}
