package tree

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// candidates are the means of the system, the strongest first.
var candidates = []candidate{
	{Cgroup2, openCgroup2},
	{Freezer, openFreezer},
	{Walk, openWalk},
	{Group, openGroup},
}

// prepare removes what has been left behind, and returns why this is not the
// time to find out what is possible: for want of descriptors nothing is.
func prepare() error {
	const enough = 8
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for range enough {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("open", err)
		}
		fds = append(fds, fd)
	}
	sweepAll()
	return nil
}

// sweep kills and removes what has been left behind at path.
func sweep(m Means, path string) error {
	switch m {
	case Cgroup2:
		return sweepTop(version2{}, path)
	case Freezer:
		return sweepTop(version1{}, path)
	case cgroup1:
		return sweepTop(controller1{}, path)
	case homeMeans:
		return sweepHome(path)
	case socketMeans:
		return sweepSocket(path)
	case Walk:
		// Soon after the death of a program the numbers of its children are
		// still theirs.
		return sweepLedger(path, time.Now().Add(killTime), ticks())
	default:
		return errors.New("these means leave nothing behind")
	}
}

// formatRecord makes the record of what means have made.
func formatRecord(m Means, path string) string {
	return string(m) + " " + strconv.QuoteToASCII(path)
}
