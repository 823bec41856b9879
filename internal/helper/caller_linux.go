package helper

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// caller is the thread that waits in a notification.
type caller struct{ pidfd int }

// pidfdThread is PIDFD_THREAD, which kernels know since 6.9.
const pidfdThread = unix.O_EXCL

// openCaller opens the thread that waits. Where the kernel can't open threads it
// is the process, which nearly always has the same files.
func (n *notification) openCaller() (caller, unix.Errno) {
	fd, err := unix.PidfdOpen(int(n.PID), pidfdThread)
	if err == unix.EINVAL {
		fd, err = unix.PidfdOpen(n.process(), 0)
	}
	if err != nil {
		return caller{-1}, errnoOf(err)
	}
	return caller{fd}, 0
}

// process returns the id of the process that the thread belongs to.
func (n *notification) process() int {
	tgid, ok := field(procPath(int(n.PID), "status"), "Tgid:")
	if !ok {
		return int(n.PID)
	}
	return tgid
}

func (c caller) close() { unix.Close(c.pidfd) }

// file returns what the caller has open under a number.
func (c caller) file(fd uint64) (int, unix.Errno) {
	if int32(fd) < 0 {
		return -1, unix.EBADF
	}
	own, err := unix.PidfdGetfd(c.pidfd, int(int32(fd)), 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	return own, 0
}

// number is what the mounted /proc calls the caller: that need not be the /proc of
// the helper's own process namespace.
func (c caller) number() (int, bool) {
	n, ok := field("/proc/self/fdinfo/"+strconv.Itoa(c.pidfd), "Pid:")
	return n, ok && n > 0
}

// isHere tells whether the caller, by its number, sees the same files under the
// same names as the helper.
func isHere(number int) bool {
	return isSame(procPath(number, "ns/mnt"), "/proc/self/ns/mnt") && isSame(procPath(number, "root/"), "/")
}

func isSame(a, b string) bool {
	var sa, sb unix.Stat_t
	return unix.Stat(a, &sa) == nil && unix.Stat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}

func procPath(number int, name string) string { return "/proc/" + strconv.Itoa(number) + "/" + name }

// field returns a number that stands behind a name in a short file of /proc.
func field(path, name string) (int, bool) {
	for line := range strings.Lines(readShort(path)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			return n, err == nil
		}
	}
	return 0, false
}

// readShort returns the beginning of a file of /proc, or nothing.
func readShort(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var b [4096]byte
	n, _ := unix.Read(fd, b[:])
	return string(b[:max(n, 0)])
}

// readLink returns where a link of /proc leads, or nothing.
func readLink(path string) string {
	var b [4096]byte
	n, err := unix.Readlink(path, b[:])
	if err != nil || n == len(b) { // what may be cut off is no path
		return ""
	}
	return string(b[:n])
}
