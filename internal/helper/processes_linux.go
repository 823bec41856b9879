package helper

import (
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// coveredProc says why the kernel lets nobody mount a /proc; whoever knows the host
// adds what to do.
const coveredProc = "/proc can't be mounted anew, as parts of the one that is there are covered (containers do that)"

// newProcesses mounts a /proc of the helper's own process namespace at a name in a
// directory. What belongs to the whole machine there can't be written: root could
// otherwise, also without capabilities.
func newProcesses(stage int, name string) (proc int, err error) {
	proc, err = newMount("proc", inert|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		detail := "/proc"
		if err == unix.EPERM {
			detail = coveredProc
		}
		return -1, failed(plan.Processes, detail, err)
	}
	if err := attachIn(proc, stage, name); err != nil {
		return proc, failed(plan.Processes, "/proc", err)
	}
	return proc, protectProcesses(proc)
}

// protectProcesses makes everything read-only that is not of a process.
func protectProcesses(proc int) error {
	names, err := entries(proc)
	if err != nil {
		return failed(plan.Processes, "/proc", err)
	}
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			continue
		}
		var s unix.Stat_t
		if err := unix.Fstatat(proc, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return failed(plan.Processes, "/proc/"+name, err)
		}
		switch kind := s.Mode & unix.S_IFMT; {
		case kind == unix.S_IFLNK, kind == unix.S_IFREG && s.Mode&0o222 == 0:
			continue
		}
		if err := protect(proc, name); err != nil {
			return failed(plan.Processes, "/proc/"+name, err)
		}
	}
	return nil
}

// protect makes what is below a name in a directory read-only.
func protect(dir int, name string) error {
	place, err := at(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	tree, err := copyMounts(place, inert|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return attach(tree, place)
}

// entries returns the names in a directory.
func entries(dir int) (names []string, err error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buffer := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// outerProcesses shows the host's /proc, with its processes, in its place.
func outerProcesses(host, root int) error {
	place, err := at(host, "/proc")
	if err != nil {
		return failed(plan.Processes, "/proc", err)
	}
	defer unix.Close(place)
	return failed(plan.Processes, "/proc",
		show(place, inert|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY, root, "proc"))
}
