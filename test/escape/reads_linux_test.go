package escape

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied is how reading a file fails that the policy denies.
var denied = map[policy]string{"": "EACCES", readOnly: "", landlocked: "", restrictedRead: "ENOENT"}

// deniedInside is that for one in the workspace.
var deniedInside = map[policy]string{"": "EACCES", readOnly: "", landlocked: ""}

var reads = []attempt{
	{"read", func(s *scene) error { return open(s.at("outside/secret"), unix.O_RDONLY) }, denied},
	{"read by ..", func(s *scene) error { return open(s.at("ws/../outside/secret"), unix.O_RDONLY) }, denied},
	{"read by a link", func(s *scene) error { return open(s.at("ws/secret-link"), unix.O_RDONLY) }, denied},
	{"read by /proc/self/root", func(s *scene) error {
		return open("/proc/self/root"+s.at("outside/secret"), unix.O_RDONLY)
	}, denied},
	{"read below a denied directory", func(s *scene) error {
		return open(s.at("outside/closed/file"), unix.O_RDONLY)
	}, denied},
	{"list a denied directory", func(s *scene) error { return open(s.at("outside/closed"), unix.O_RDONLY|unix.O_DIRECTORY) }, denied},
	{"read by a descriptor without rights", func(s *scene) error {
		fd, err := unix.Open(s.at("outside/secret"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY)
	}, denied},
	{"read by number", readByHandle, map[policy]string{"": "EPERM", readOnly: "EPERM", restrictedRead: "ENOENT"}},
	{
		"link to what is denied", func(s *scene) error { return unix.Link(s.at("ws/.env"), s.at("ws/env")) },
		map[policy]string{"": "EXDEV", readOnly: "", landlocked: ""},
	},
	{"read what a glob denies", func(s *scene) error { return open(s.at("ws/.env"), unix.O_RDONLY) }, deniedInside},
	{"read what a glob denies, deeper", func(s *scene) error {
		return open(s.at("ws/dir/.env"), unix.O_RDONLY)
	}, deniedInside},
	{
		"make what is denied readable", func(s *scene) error { return unix.Chmod(s.at("ws/.env"), 0o777) },
		map[policy]string{"": "EROFS", readOnly: "", landlocked: ""},
	},
	{
		"move what is denied", func(s *scene) error { return unix.Rename(s.at("ws/.env"), s.at("ws/env")) },
		map[policy]string{"": "EBUSY", readOnly: "", landlocked: ""},
	},
	{
		"remove what is denied", func(s *scene) error { return unix.Unlink(s.at("ws/.env")) },
		map[policy]string{"": "EBUSY", readOnly: "", landlocked: ""},
	},
	{"uncover what is denied", func(s *scene) error {
		path := append([]byte(s.at("ws/.env")), 0)
		return raw(unix.SYS_UMOUNT2, uintptr(unsafe.Pointer(&path[0])), unix.MNT_DETACH)
	}, always("EPERM")},
	{"read what is not shown", func(s *scene) error {
		return all(open(s.at("outside/target"), unix.O_RDONLY), open(s.at("outside"), unix.O_RDONLY),
			open("/root", unix.O_RDONLY), open("/home", unix.O_RDONLY), open("/proc/self/root/var/log", unix.O_RDONLY))
	}, map[policy]string{"": "", restrictedRead: "ENOENT"}},
	{"devices of the host", hostDevices, always("none")},
}

// readByHandle opens a file by its number in the file system.
func readByHandle(s *scene) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.at("outside/target"), 0)
	if err == unix.EOPNOTSUPP {
		return unix.EPERM // the file system has none
	}
	if err != nil {
		return err
	}
	mount, err := unix.Open(s.at("ws"), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	fd, err := unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// hostDevices tells which devices can be opened that no program needs.
func hostDevices(*scene) error {
	var opened []string
	for _, name := range []string{
		"mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "kvm", "fuse", "net/tun",
		"uinput", "input/event0", "vhost-net", "userfaultfd", "cpu/0/msr", "rtc0", "vsock", "hpet", "snapshot", "autofs",
		"tty0", "tty1", "ttyS0", "vcs", "mapper/control",
	} {
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY} {
			if open("/dev/"+name, flags) == nil {
				opened = append(opened, name)
				break
			}
		}
	}
	if len(opened) == 0 {
		return got("none")
	}
	return got(strings.Join(opened, ","))
}

// runSetuid runs a program that belongs to root and would run as root.
func runSetuid(s *scene) error {
	cmd := exec.Command(s.at("outside/suid"), "user")
	if s.Policy == restrictedRead {
		cmd = exec.Command(s.at("ws/suid"), "user")
	}
	cmd.Env = os.Environ()
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	if string(out) == strconv.Itoa(s.UID) {
		return got("same user")
	}
	return got("user " + string(out))
}
