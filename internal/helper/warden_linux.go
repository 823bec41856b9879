package helper

import (
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/ledger"
	"github.com/airlock-exec/airlock/internal/spawn/point"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

// Descriptors that the warden is started with. Its standard streams are the
// null device: the daemon's terminal, or a pipe to its log, must not stay open
// because somebody is still cleaning up.
const (
	// LedgerFD is the pipe from which entries of the ledger are read. It ends
	// with the daemon.
	LedgerFD = 3
	// DaemonFD is a pidfd of the daemon, where the system has them. It tells of
	// the daemon's end also while somebody else holds the pipe open, as a
	// child does that the daemon has forked and that has not executed its
	// program yet.
	DaemonFD = 4
)

const (
	exitLeft = 1 // something could not be removed

	// sweepFor is how long the warden tries to remove what resists: a dying
	// process holds its cgroup for a while.
	sweepFor = 5 * time.Second
	// giveUpAfter bounds all of it, should a single attempt not return.
	giveUpAfter = 15 * time.Second
	// The pause between attempts doubles from the first to the last of these.
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// spareThreads is how many threads the warden has to work with when the system
// gives it no more.
const spareThreads = 4

func runWarden() int {
	tree.SpareThreads(spareThreads)
	return RunWarden(hold, sweep)
}

func hold(record string) {
	if point.Records(record) {
		point.Hold(record)
	} else {
		tree.Hold(record)
	}
}

func sweep(record string) error {
	if point.Records(record) {
		return point.Sweep(record)
	}
	return tree.Sweep(record)
}

// RunWarden waits for the end of the daemon, calls sweep for what is on the
// ledger then, which hold has been called for before, the newest first, and returns the exit status. Whatever fails is
// tried again for some seconds. Nothing but the daemon's end, SIGKILL or a crash
// ends the warden: a terminal or a service manager that signals all it knows
// must not take it along with the daemon.
func RunWarden(hold func(record string), sweep func(record string) error) int {
	var pipe unix.Stat_t
	if err := unix.Fstat(LedgerFD, &pipe); err != nil || pipe.Mode&unix.S_IFMT != unix.S_IFIFO {
		return refuse("warden needs a pipe from the daemon")
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGPIPE)
	daemon := int32(DaemonFD)
	if unix.PidfdSendSignal(DaemonFD, 0, nil, 0) == unix.EBADF {
		daemon = -1 // it is none, or the system has none
	}
	closeInherited(DaemonFD)
	// Its memory is the price of every daemon. There is next to nothing on the
	// heap; by default it would grow to megabytes before it is collected.
	debug.SetGCPercent(10)
	setName("airlock-warden")

	var left ledger.Ledger
	follow(daemon, &left, hold)
	done := make(chan bool, 1)
	go func() { done <- sweepAll(left.Records(), sweep) }()
	select {
	case all := <-done:
		if all {
			return 0
		}
	case <-time.After(giveUpAfter):
	}
	return exitLeft
}

// follow reads entries until the daemon is gone, and calls hold for each.
func follow(daemon int32, to *ledger.Ledger, hold func(record string)) {
	_ = unix.SetNonblock(LedgerFD, true)
	var decoder ledger.Decoder
	buffer := make([]byte, 4096)
	// read carries out what is there and tells whether there can be more.
	read := func() bool {
		for {
			n, err := unix.Read(LedgerFD, buffer)
			switch {
			case err == unix.EINTR:
			case err != nil:
				return err == unix.EAGAIN
			case n == 0:
				return false
			default:
				decoder.Feed(buffer[:n], to)
				for _, record := range to.Records() {
					hold(record)
				}
			}
		}
	}
	fds := []unix.PollFd{
		{Fd: LedgerFD, Events: unix.POLLIN},
		{Fd: daemon, Events: unix.POLLIN}, // passed over if negative
	}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			continue
		}
		// The daemon's end comes after all that it has written, so the pipe is
		// looked into after that has been looked at.
		gone := fds[1].Revents != 0
		if !read() || gone {
			return
		}
	}
}

// sweepAll calls sweep for each record, the newest first as it may stand within
// an older one, but mount points last, as what is below them must not be seen by
// those that are to be killed; and again for those that have failed. It tells
// whether all have succeeded in the end.
func sweepAll(records []string, sweep func(record string) error) bool {
	slices.Reverse(records)
	slices.SortStableFunc(records, func(a, b string) int {
		switch {
		case point.Records(a) == point.Records(b):
			return 0
		case point.Records(b):
			return -1
		}
		return 1
	})
	deadline := time.Now().Add(sweepFor)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		records = slices.DeleteFunc(records, func(record string) bool { return sweep(record) == nil })
		if len(records) == 0 || time.Now().Add(pause).After(deadline) {
			return len(records) == 0
		}
		<-time.After(pause)
	}
}

// closeInherited closes what a careless program has left open across the exec,
// beyond the last descriptor that the helper is meant to have.
// What this program has opened since is marked close-on-exec, and stays.
func closeInherited(last int) {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	// By hand, since files of package os bring the runtime's poller along.
	var names []string
	buffer := make([]byte, 1024)
	for {
		n, err := unix.ReadDirent(dir, buffer)
		if err != nil || n == 0 {
			break
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= last {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// setName names the process for ps and top, which would show "exe", or a number.
func setName(name string) {
	fd, err := unix.Open("/proc/self/comm", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, _ = unix.Write(fd, []byte(name))
		unix.Close(fd)
	}
}
