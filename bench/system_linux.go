package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// serverAttributes puts a server into a process group of its own: Ctrl-C is
// for this program, which then stops the server in order. Should this program
// be killed itself, the kernel tells the server to end. (It does so when the
// thread that forked ends, but Go keeps its threads.)
func serverAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// terminalAttributes makes the child's stdin its controlling terminal.
func terminalAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// namespaceAttributes puts the child into the namespaces that a sandbox has, as
// the user it would be without.
func namespaceAttributes(uid, gid int) (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,

		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}, nil
}

// setQuickAck has a TCP socket acknowledge at once what comes next.
func setQuickAck(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }

// openPTY opens a new terminal.
func openPTY() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unlockPTY(master)
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	return master, slave, nil
}

func unlockPTY(master *os.File) (number uint32, err error) {
	raw, err := master.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errUnlock, errNumber error
	err = raw.Control(func(fd uintptr) {
		errUnlock = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		number, errNumber = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
	})
	return number, errors.Join(err, errUnlock, errNumber)
}

// residentBytes is the resident memory of a process.
func residentBytes(pid int) (float64, error) { return statusBytes(pid, "VmRSS") }

// peakBytes is its highest resident memory since resetPeak.
func peakBytes(pid int) (float64, error) { return statusBytes(pid, "VmHWM") }

func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// statusBytes reads a size from /proc/PID/status, which gives it in KiB.
func statusBytes(pid int, field string) (float64, error) {
	value, err := statusField(pid, field)
	if err != nil {
		return 0, err
	}
	kib, err := strconv.Atoi(strings.TrimSuffix(value, " kB"))
	if err != nil {
		return 0, fmt.Errorf("%s of process %d: %w", field, pid, err)
	}
	return float64(kib) * 1024, nil
}

func statusField(pid int, field string) (string, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s has no %s", path, field)
}

// treeResidentBytes is the resident memory of a process and all its
// descendants.
func treeResidentBytes(pid int) (float64, error) {
	children, err := childrenByParent()
	if err != nil {
		return 0, err
	}
	var total float64
	for pids := []int{pid}; len(pids) > 0; pids = pids[1:] {
		bytes, err := residentBytes(pids[0])
		if err != nil {
			return 0, err
		}
		total += bytes
		pids = append(pids, children[pids[0]]...)
	}
	return total, nil
}

// residentBetween is the resident memory of all descendants of a process that have
// a name, and of what stands between them and that process, and how many have it.
func residentBetween(pid int, name string) (total float64, found int, err error) {
	children, err := childrenByParent()
	if err != nil {
		return 0, 0, err
	}
	var visit func(pid int) (on bool, err error)
	visit = func(pid int) (on bool, err error) {
		for _, child := range children[pid] {
			below, err := visit(child)
			if err != nil {
				return false, err
			}
			has, err := statusField(child, "Name")
			if err != nil {
				return false, err
			}
			if has == name {
				below = true
				found++
			}
			if !below {
				continue
			}
			bytes, err := residentBytes(child)
			if err != nil {
				return false, err
			}
			total += bytes
			on = true
		}
		return on, nil
	}
	_, err = visit(pid)
	return total, found, err
}

// childrenByParent lists all processes. /proc/PID/task/TID/children would be
// less work, but not every kernel has it.
func childrenByParent() (map[int][]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		value, err := statusField(pid, "PPid")
		if err != nil {
			continue // it has ended meanwhile
		}
		parent, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("parent of process %d: %w", pid, err)
		}
		children[parent] = append(children[parent], pid)
	}
	return children, nil
}

// describeSystem returns the kernel's release, the processor's name and the load
// average, as far as they can be had.
func describeSystem() (kernel, cpu string, load float64) {
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		kernel = unix.ByteSliceToString(name.Release[:])
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if loads, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(loads), " ")
		load, _ = strconv.ParseFloat(first, 64) // 0 if it is no number
	}
	return kernel, cpu, load
}

// readUsage reads the processor times.
func readUsage() (usage, error) {
	const tick = 10 * time.Millisecond // the unit of /proc/stat, whatever the kernel's own is
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{}, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal; guests are in user
	const idle, iowait, steal = 4, 5, 8
	if len(fields) <= steal {
		return usage{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var u usage
	for i, field := range fields[:steal+1] {
		if i == 0 {
			continue // its name
		}
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("/proc/stat: %w", err)
		}
		u.total += time.Duration(ticks) * tick
		if i != idle && i != iowait {
			u.busy += time.Duration(ticks) * tick
		}
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return usage{}, fmt.Errorf("reading its own processor time: %w", err)
		}
		u.own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}
