//go:build unix && !linux

package spawn

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
)

func closeOnExec() { closeEachOnExec() }

// catchIgnored has SIGHUP and SIGINT caught if this program was started with
// them ignored (by nohup, or in the background of a script): exec resets
// caught signals to their default, ignored ones it leaves.
func catchIgnored() {
	unread := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(unread, sig)
		}
	}
}

// unblockSignals does nothing: the system gives no access to the mask without
// its C library.
func unblockSignals() {}

// pipe returns a pipe, close-on-exec.
func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return -1, -1, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// growPipe does nothing: the system grows pipes by itself.
func growPipe(int) {}

// openPTY returns both ends of a new terminal, close-on-exec.
func openPTY(size Size) (master, slave int, err error) {
	m, s, err := pty.Open()
	if err != nil {
		return -1, -1, err
	}
	defer m.Close()
	defer s.Close()
	if err := pty.Setsize(m, &pty.Winsize{Rows: size.Rows, Cols: size.Cols}); err != nil {
		return -1, -1, err
	}
	if master, err = duplicate(m); err != nil {
		return -1, -1, err
	}
	if slave, err = duplicate(s); err != nil {
		syscall.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

// duplicate takes a descriptor out of its file.
func duplicate(file *os.File) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		return -1, err
	}
	syscall.CloseOnExec(fd)
	return fd, nil
}
