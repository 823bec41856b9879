package spawn

import (
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func closeOnExec() {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeEachOnExec() // before Linux 5.11
	}
}

// catchIgnored has the signals caught that this program was started with as
// ignored (by nohup, or in the background of a script): exec resets caught
// signals to their default, ignored ones it leaves, and a child that ignores
// SIGINT can't be interrupted. To this program a caught signal that nobody
// looks at is as good as ignored.
func catchIgnored() {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:\t")
	line, _, _ := strings.Cut(rest, "\n")
	ignored, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		return
	}
	unread := make(chan os.Signal, 1)
	for sig := range 64 {
		if ignored&(1<<sig) != 0 {
			signal.Notify(unread, syscall.Signal(sig+1))
		}
	}
}

// unblockSignals empties the signal mask of the calling thread, which is what
// children forked from it start with.
func unblockSignals() {
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
}

// pipe returns a pipe, close-on-exec.
func pipe() (r, w int, err error) {
	var fds [2]int
	err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	return fds[0], fds[1], err
}

// busyPipeBytes is the room of a pipe that is written to faster than it is
// read. Four times the default is where more stops paying.
const busyPipeBytes = 256 << 10

// growPipe makes room in a pipe if the user may have it.
func growPipe(fd int) {
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, busyPipeBytes)
}

// openPTY returns both ends of a new terminal, close-on-exec.
func openPTY(size Size) (master, slave int, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	master, err = unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return -1, -1, err
	}
	slave, err = openSlave(master, flags, size)
	if err != nil {
		unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

func openSlave(master, flags int, size Size) (slave int, err error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols}); err != nil {
		return -1, err
	}
	// The peer is right whatever is mounted at /dev/pts.
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno == 0 {
		return int(fd), nil
	}
	if errno != unix.ENOTTY && errno != unix.EINVAL {
		return -1, errno
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN) // before Linux 4.13
	if err != nil {
		return -1, err
	}
	return unix.Open("/dev/pts/"+strconv.Itoa(n), flags, 0)
}
