package tree

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is one that was alive when it was looked at.
type process struct {
	pid, parent, group, session int

	start uint64 // in ticks since the system's start
	mark  uint32

	stopped bool
	cpu     uint64 // in ticks, with that of the children that it has waited for
	pages   uint64 // in memory
}

// A scan lists the processes again and again until it finds no new one in
// quietPasses passes: so that it does not miss one that is never there for long,
// because it starts a successor and exits. After scanTime it gives up: the system
// is too busy.
const (
	quietPasses = 2
	scanTime    = 500 * time.Millisecond
)

// scan calls visit for all living processes but this one. It reports whether it
// is sure that none has been missed. The marker may be nil.
func scan(m *marker, visit func(process)) (complete bool, err error) {
	proc, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, &os.PathError{Op: "open", Path: "/proc", Err: err}
	}
	defer unix.Close(proc)
	seen := map[int]struct{}{os.Getpid(): {}}
	quiet, began := 0, time.Now()
	for passes := 0; passes < quietPasses || time.Since(began) < scanTime; passes++ {
		before := len(seen)
		if err := pass(proc, m, seen, visit); err != nil {
			return false, err
		}
		if quiet++; len(seen) > before {
			quiet = 0
		}
		if quiet == quietPasses {
			return true, nil
		}
		if _, err := unix.Seek(proc, 0, unix.SEEK_SET); err != nil {
			return false, &os.PathError{Op: "seek", Path: "/proc", Err: err}
		}
	}
	return false, nil
}

// pass looks at the processes that have not been seen yet.
func pass(proc int, m *marker, seen map[int]struct{}, visit func(process)) error {
	// A short list is read at a time, so that a process is looked at soon after
	// it has been listed.
	list := make([]byte, 1<<10)
	var names []string
	for {
		n, err := unix.Getdents(proc, list)
		if err != nil {
			return &os.PathError{Op: "getdents", Path: "/proc", Err: err}
		}
		if n <= 0 {
			return nil
		}
		_, _, names = unix.ParseDirent(list[:n], -1, names[:0])
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if _, known := seen[pid]; err != nil || known {
				continue
			}
			seen[pid] = struct{}{}
			p, alive, err := look(pid)
			if err == nil && alive && m != nil {
				p.mark, err = m.get(pid)
				if hidden(err) {
					err = nil // it is none of ours, or has got other rights
				}
			}
			switch {
			case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
				// It is gone. If it has a successor, that is seen in another pass.
			case hidden(err):
				// We are not to know of it.
			case err != nil:
				return err
			case alive:
				visit(p)
			}
		}
	}
}

func hidden(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// look reads /proc/PID/stat. Zombies and the kernel's own are not alive.
func look(pid int) (p process, alive bool, err error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return process{}, false, &os.PathError{Op: "read", Path: path, Err: err}
	}
	p, alive = parseStat(buf[:n])
	p.pid = pid
	return p, alive, nil
}

// parseStat parses /proc/PID/stat, except for the number in front.
func parseStat(stat []byte) (p process, alive bool) {
	const (
		state, parent, group, session = 0, 1, 2, 3 // after the name

		flags, threads, start = 6, 17, 19
		firstTime, lastTime   = 11, 14 // its own and its children's, as user and in the kernel
		pages                 = 21
		ofKernel              = 0x00200000 // PF_KTHREAD
	)
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) <= pages {
		return process{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(f[i])
		return n
	}
	p = process{parent: number(parent), group: number(group), session: number(session)}
	p.start, _ = strconv.ParseUint(f[start], 10, 64)
	p.stopped = f[state] == "T"
	for i := firstTime; i <= lastTime; i++ {
		p.cpu += uint64(number(i))
	}
	p.pages = uint64(max(0, number(pages)))
	// The main thread of a process may be a zombie while others run.
	zombie := (f[state] == "Z" || f[state] == "X") && number(threads) <= 1
	return p, !zombie && number(flags)&ofKernel == 0
}

// signal sends a signal to the process, and never to another that has got its
// number since.
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err == nil {
		defer unix.Close(fd)
	}
	now, _, lookErr := look(p.pid)
	if lookErr != nil || now.start != p.start {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		return
	}
	// Before Linux 5.3, or with no descriptors to spare.
	_ = unix.Kill(p.pid, sig)
}

// killVerified kills these processes if list has them, and never others that have
// got their numbers since: what a descriptor has been opened for before list was
// called is a member, or dead.
func killVerified(pids []int, list func() []int) {
	const most = 256 // descriptors at a time
	for len(pids) > most {
		killVerified(pids[:most], list)
		pids = pids[most:]
	}
	opened := make(map[int]int, len(pids))
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ENOSYS {
			fd = -1 // before Linux 5.3
		} else if err != nil {
			continue
		}
		opened[pid] = fd
	}
	self := os.Getpid()
	for _, pid := range list() {
		fd, ok := opened[pid]
		switch {
		case !ok || pid == self:
		case fd >= 0:
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		default:
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	for _, fd := range opened {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// ticksPerSecond is the unit of what the kernel tells, whatever its own is.
const ticksPerSecond = 100

// ticks returns the time since the system's start in the unit of process.start.
func ticks() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // always there
	return uint64(now.Sec)*ticksPerSecond + uint64(now.Nsec)/(1e9/ticksPerSecond)
}
