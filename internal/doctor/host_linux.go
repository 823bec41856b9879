package doctor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/spawn/warden"
	"github.com/airlock-exec/airlock/protocol"
)

// system is what a probe can do on Linux besides.
type system struct {
	release string // of the kernel
	pid     int

	// writable returns why this user can't write to a file of the system.
	writable func(path string) error
	// startWarden starts a warden and ends it.
	startWarden func() error
	// pidfd opens a pidfd and waits for it as the daemon waits for processes.
	pidfd func() error
	// subreaper asks whether orphans come to this program.
	subreaper func() (bool, error)
	// isolate makes namespaces, for nobody: see there.
	isolate func(inUser bool, flags uintptr) error
	// confine runs a program in a sandbox of a tier. The error says what could not be
	// set up.
	confine func(tier protocol.SandboxTier) error
	// mountAttributes returns why mounts can't be made and changed by descriptors.
	mountAttributes func() error
	// landlock returns the version of the interface.
	landlock func() (int, error)
	// seccompAction and seccompFlag return why an action or a flag is not
	// available to filters.
	seccompAction func(action uint32) error
	seccompFlag   func(flag uintptr) error
	// noNewPrivs tells whether programs are kept from gaining privileges.
	noNewPrivs func() (bool, error)
	// processLimit returns the limit of processes of this user.
	processLimit func() (uint64, error)
}

func newHost() *host {
	h := &host{
		uid:          os.Geteuid(),
		temp:         os.TempDir(),
		env:          os.Getenv,
		openTerminal: openTerminal,
		openTrees:    openTrees,
		openTemp:     openTemp,
		listen:       listen,
		free:         free,
		descriptors:  descriptors,
	}
	h.system = system{
		release:     release(),
		pid:         os.Getpid(),
		writable:    writable,
		startWarden: startWarden,
		pidfd:       tryPidfd,
		subreaper:   subreaper,
		isolate:     isolate,
		confine:     confine,

		mountAttributes: mountAttributes,
		landlock:        landlockVersion,
		seccompAction:   seccompAction,
		seccompFlag:     seccompFlag,
		noNewPrivs:      noNewPrivs,
		processLimit:    processLimit,
	}
	return h
}

func release() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

func writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// openTerminal implements host.
func openTerminal() error {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	master, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	defer unix.Close(master)
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return os.NewSyscallError("unlocking the terminal", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags)
	slave := int(fd)
	if errno == unix.ENOTTY || errno == unix.EINVAL { // before Linux 4.13
		n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
		if err != nil {
			return os.NewSyscallError("asking for the terminal's number", err)
		}
		path := "/dev/pts/" + strconv.Itoa(n)
		if slave, err = unix.Open(path, flags, 0); err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
	} else if errno != 0 {
		return os.NewSyscallError("opening the other end of the terminal", errno)
	}
	defer unix.Close(slave)
	return passThrough(slave, master)
}

// passThrough writes something to one end of a terminal and reads it from the
// other.
func passThrough(from, to int) error {
	if _, err := unix.Write(from, []byte("x")); err != nil {
		return os.NewSyscallError("writing to the terminal", err)
	}
	fds := []unix.PollFd{{Fd: int32(to), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(patience.Milliseconds()/2))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			return errors.New("what is written to the terminal does not come through")
		}
		if err != nil {
			return os.NewSyscallError("poll", err)
		}
		break
	}
	var b [8]byte
	n, err := unix.Read(to, b[:])
	if err != nil {
		return os.NewSyscallError("reading from the terminal", err)
	}
	if got := string(b[:n]); got != "x" {
		return fmt.Errorf("the terminal passes on %q for %q", got, "x")
	}
	return nil
}

func openNameless(folder string) (*os.File, error) {
	file, err := os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE|os.O_EXCL, 0o600)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported // the file system or the kernel can't do that
	}
	return file, err
}

func reserve(file *os.File) bool {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 1<<20) == nil
}

func free(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	blocks := s.Bavail
	if os.Geteuid() == 0 {
		blocks = s.Bfree
	}
	return blocks * uint64(s.Bsize), nil
}

// startWarden implements system.
func startWarden() error {
	w := warden.New(warden.Config{})
	defer w.Close()
	return w.Start()
}

func tryPidfd() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(fd)
	// Nothing is sent, it is only asked for.
	return os.NewSyscallError("pidfd_send_signal", unix.PidfdSendSignal(fd, 0, nil, 0))
}

func subreaper() (bool, error) {
	var is int32
	err := prctlOut(unix.PR_GET_CHILD_SUBREAPER, &is)
	return is != 0, err
}

func noNewPrivs() (bool, error) {
	is, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return is != 0, os.NewSyscallError("prctl", err)
}

func processLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
	return limit.Cur, os.NewSyscallError("getrlimit", err)
}

// read returns what is in a file of the system, without blanks around it.
func (h *host) read(path string) (string, error) {
	content, err := os.ReadFile(h.root + path)
	return strings.TrimSpace(string(content)), err
}

// number returns the number that is in a file of the system.
func (h *host) number(path string) (n int64, ok bool) {
	text, err := h.read(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// status returns a field of what the system says about this program.
func (h *host) status(field string) string {
	text, _ := h.read("/proc/self/status")
	_, rest, found := strings.Cut("\n"+text, "\n"+field+":")
	if !found {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// isFiltered tells whether system calls of this program are judged by a filter,
// as those of most containers are.
func (h *host) isFiltered() bool { return h.status("Seccomp") == "2" }

// isDenied tells whether an error is a refusal.
func isDenied(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)
}
