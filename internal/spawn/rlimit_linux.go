package spawn

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// mostCPUSeconds is more than anybody has. With larger numbers the kernel loses
// its way.
const mostCPUSeconds = 1 << 33

// rlimits returns those limits that each process has for itself.
func (l *Limits) rlimits() (all []plan.Rlimit) {
	if n := min(l.CPUSeconds, mostCPUSeconds); n > 0 {
		all = append(all, plan.Rlimit{Resource: unix.RLIMIT_CPU, Soft: n, Hard: n + 1})
	}
	if n := l.OpenFiles; n > 0 {
		all = append(all, plan.Rlimit{Resource: unix.RLIMIT_NOFILE, Soft: n, Hard: n})
	}
	if n := min(l.FileBytes, math.MaxInt64); n > 0 {
		all = append(all, plan.Rlimit{Resource: unix.RLIMIT_FSIZE, Soft: n, Hard: n})
	}
	return all
}

// mechanisms returns what enforces the limits in a tree.
func (l *Limits) mechanisms(t *tree.Tree) (m Mechanisms) {
	m.Memory, m.Processes = t.Mechanisms()
	if l.CPUSeconds > 0 {
		m.CPU = Rlimit
	}
	if l.OpenFiles > 0 {
		m.OpenFiles = Rlimit
	}
	if l.FileBytes > 0 {
		m.File = Rlimit
	}
	return m
}

// errNoRlimit is for a limit that the system does not let us set.
func errNoRlimit(r plan.Rlimit, errno syscall.Errno) error {
	names := map[int]struct{ what, rlimit, mend string }{
		unix.RLIMIT_CPU:    {"seconds of processor time", "RLIMIT_CPU", "ulimit -t, or LimitCPU= of systemd"},
		unix.RLIMIT_NOFILE: {"open files", "RLIMIT_NOFILE", "ulimit -Hn, or LimitNOFILE= of systemd"},
		unix.RLIMIT_FSIZE:  {"bytes in a file", "RLIMIT_FSIZE", "ulimit -f, or LimitFSIZE= of systemd"},
	}
	name := names[r.Resource]
	possible, why := mostOf(r.Resource)
	if possible == 0 || possible >= r.Soft {
		return unenforceable("a limit of %d %s can't be enforced: %s: %w", r.Soft, name.what, name.rlimit, asOSError(errno))
	}
	return unenforceable("a limit of %d %s can't be enforced: at most %d are possible, by %s. Ask for less, or raise that (%s) and start the executor again",
		r.Soft, name.what, possible, why, name.mend)
}

// mostOf returns the highest limit that we may set, and what keeps it from being
// higher; 0 if that is not known.
func mostOf(resource int) (most uint64, why string) {
	var own unix.Rlimit
	if unix.Getrlimit(resource, &own) == nil {
		most, why = own.Max, fmt.Sprintf("the hard limit of the executor (%d)", own.Max)
	}
	if resource == unix.RLIMIT_CPU && most > 0 {
		most-- // the hard one comes a second later
	}
	if resource == unix.RLIMIT_NOFILE {
		text, _ := os.ReadFile("/proc/sys/fs/nr_open")
		n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n < most {
			most, why = n, "fs.nr_open of the kernel"
		}
	}
	return most, why
}

// spentCPU returns the processor time in whole seconds that a process has spent,
// which may be a zombie.
func spentCPU(pid int) uint64 { return cpuFields(pid, 11, 12) }

// spentByReaped returns the same of the children that a process has waited for.
func spentByReaped(pid int) uint64 { return cpuFields(pid, 13, 14) }

// cpuFields adds two of the fields after the name.
func cpuFields(pid, user, kernel int) uint64 {
	const ticksPerSecond = 100
	f := statFields(pid)
	if len(f) <= kernel {
		return 0
	}
	u, _ := strconv.ParseUint(f[user], 10, 64)
	k, _ := strconv.ParseUint(f[kernel], 10, 64)
	return (u + k) / ticksPerSecond
}
