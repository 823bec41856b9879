package tree

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readFile reads a file of the kernel's. It does without what [os.ReadFile] does
// for other kinds.
func readFile(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var content []byte
	var buf [1024]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return string(content), nil
		}
		content = append(content, buf[:n]...)
	}
}

// readNumber reads a file of a process that consists of a number.
func readNumber(pid int, name string, base int) (uint64, error) {
	text, err := readFile("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSuffix(text, "\n"), base, 64)
}
