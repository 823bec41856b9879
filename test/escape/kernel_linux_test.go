package escape

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/unix"
)

func text(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kernel = []attempt{
	{"namespaces", func(*scene) error {
		return all(
			raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
			raw(unix.SYS_UNSHARE, unix.CLONE_NEWNET), raw(unix.SYS_UNSHARE, unix.CLONE_NEWPID),
			raw(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP), raw(unix.SYS_UNSHARE, unix.CLONE_NEWTIME),
			raw(unix.SYS_SETNS, 0, 0))
	}, always("EPERM")},
	{"a child with a user namespace", func(s *scene) error {
		cmd := exec.Command("/proc/self/exe", "user")
		cmd.Env = os.Environ()
		cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}, always("EPERM")},
	{"clone3", func(*scene) error { return raw(unix.SYS_CLONE3, 0, 0) }, always("ENOSYS")},
	{"mounts", func(s *scene) error {
		return all(
			raw(unix.SYS_MOUNT, text(s.at("outside")), text(s.at("ws")), 0, unix.MS_BIND),
			raw(unix.SYS_MOUNT, 0, text("/"), 0, unix.MS_REMOUNT|unix.MS_BIND),
			raw(unix.SYS_UMOUNT2, text("/proc"), unix.MNT_DETACH),
			raw(unix.SYS_PIVOT_ROOT, text("/"), text("/")),
			raw(unix.SYS_CHROOT, text(s.at("ws"))),
			raw(unix.SYS_OPEN_TREE, ^uintptr(99), text("/"), unix.OPEN_TREE_CLONE),
			raw(unix.SYS_MOVE_MOUNT), raw(unix.SYS_FSOPEN, text("tmpfs")), raw(unix.SYS_FSPICK),
			raw(unix.SYS_MOUNT_SETATTR))
	}, always("EPERM")},
	{
		"devices", func(s *scene) error { return unix.Mknod(s.at("ws/device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))) },
		map[policy]string{"": "EPERM", readOnly: "EROFS EPERM", landlocked: "EACCES EPERM"},
	},
	{"io_uring", func(*scene) error {
		return all(raw(unix.SYS_IO_URING_SETUP, 1), raw(unix.SYS_IO_URING_ENTER), raw(unix.SYS_IO_URING_REGISTER))
	}, always("EPERM")},
	{"keys", func(*scene) error {
		return all(
			raw(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2)),
			raw(unix.SYS_ADD_KEY, text("user"), text("x"), text("y"), 1, ^uintptr(2)),
			raw(unix.SYS_REQUEST_KEY, text("user"), text("x"), text("y"), 0))
	}, always("EPERM")},
	{"perf", func(*scene) error {
		attributes := unix.PerfEventAttr{Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		return raw(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attributes)), 0, ^uintptr(0), ^uintptr(0))
	}, always("EPERM")},
	{"code for the kernel", func(*scene) error {
		return all(
			raw(unix.SYS_BPF, 5), raw(unix.SYS_INIT_MODULE), raw(unix.SYS_FINIT_MODULE), raw(unix.SYS_DELETE_MODULE),
			raw(unix.SYS_KEXEC_LOAD), raw(unix.SYS_KEXEC_FILE_LOAD), raw(unix.SYS_USERFAULTFD, 1))
	}, always("EPERM")},
	{"input of the terminal", func(*scene) error {
		letter := [1]byte{'x'}
		at := uintptr(unsafe.Pointer(&letter[0]))
		return all(
			raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, at), raw(unix.SYS_IOCTL, 0, 0xabcdef_00000000|unix.TIOCSTI, at),
			raw(unix.SYS_IOCTL, 0, unix.TIOCLINUX, at), raw(unix.SYS_IOCTL, 1<<32, unix.TIOCSTI, at))
	}, always("EPERM")},
	{"the machine", func(*scene) error {
		return all(
			raw(unix.SYS_SYSLOG, 3, 0, 0), raw(unix.SYS_REBOOT, 0xfee1dead, 672274793, 0x89abcdef),
			raw(unix.SYS_SETHOSTNAME, text("x"), 1), raw(unix.SYS_SWAPOFF, text("/x")),
			raw(unix.SYS_CLOCK_SETTIME, 0, uintptr(unsafe.Pointer(&unix.Timespec{}))), raw(unix.SYS_ACCT, 0))
	}, always("EPERM")},
	{
		"other users", func(*scene) error { return all(raw(unix.SYS_SETUID, 12345), raw(unix.SYS_SETGID, 12345)) },
		// There are no others in a user namespace of an ordinary user.
		always("EPERM EINVAL"),
	},
	{"other groups", func(*scene) error { return raw(unix.SYS_SETGROUPS, 0, 0) }, always("EPERM")},
	{"capabilities again", func(*scene) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << 21, Permitted: 1 << 21}}
		return unix.Capset(&header, &data[0])
	}, always("EPERM")},
	{"new privileges", func(*scene) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }, always("EINVAL")},
	{"higher limits", func(*scene) error {
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
			return err
		}
		lower := unix.Rlimit{}
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &lower); err != nil {
			return err
		}
		higher := unix.Rlimit{Cur: 1, Max: 1}
		return unix.Setrlimit(unix.RLIMIT_CORE, &higher)
	}, always("EPERM")},
}
