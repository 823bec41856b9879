package helper

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// deviceNodes are those of the host that every /dev has.
var deviceNodes = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

var deviceLinks = [...][2]string{
	{"fd", "/proc/self/fd"},
	{"stdin", "/proc/self/fd/0"},
	{"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"},
	{"ptmx", "pts/ptmx"},
}

// newDevices makes a /dev at a name in a directory: the devices of every program,
// terminals of its own, and memory to share of its own.
func newDevices(host, stage int, name string) (dev int, err error) {
	dev, err = newMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "mode", "0755")
	if err != nil {
		return -1, failed(plan.Devices, "/dev", err)
	}
	// Attached first: some kernels mount nothing on what is attached nowhere.
	if err := attachIn(dev, stage, name); err != nil {
		return dev, failed(plan.Devices, "/dev", err)
	}
	for _, node := range deviceNodes {
		if err := showDevice(host, "/dev/"+node, dev, node); err != nil {
			return dev, failed(plan.Devices, "/dev/"+node, err)
		}
	}
	for _, link := range deviceLinks {
		if err := unix.Symlinkat(link[1], dev, link[0]); err != nil {
			return dev, failed(plan.Devices, "/dev/"+link[0], err)
		}
	}
	for _, own := range [...]struct {
		kind, name string
		attributes int
		options    []string
	}{
		{"devpts", "pts", unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, []string{"ptmxmode", "0666", "mode", "0620"}},
		{"tmpfs", "shm", inert, []string{"mode", "1777"}},
	} {
		if err := unix.Mkdirat(dev, own.name, 0o755); err != nil {
			return dev, failed(plan.Devices, "/dev/"+own.name, err)
		}
		mount, err := newMount(own.kind, own.attributes, own.options...)
		if err != nil {
			return dev, failed(plan.Devices, "/dev/"+own.name, err)
		}
		err = attachIn(mount, dev, own.name)
		unix.Close(mount)
		if err != nil {
			return dev, failed(plan.Devices, "/dev/"+own.name, err)
		}
	}
	return dev, nil
}

func showDevice(host int, path string, dev int, name string) error {
	place, err := at(host, path)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	return showNode(place, dev, name)
}

func showNode(place, dev int, name string) error {
	var s unix.Stat_t
	if err := unix.Fstat(place, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFCHR {
		return unix.ENODEV
	}
	if err := makeFile(dev, name, 0o666); err != nil {
		return err
	}
	return show(place, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, dev, name)
}

// finishDevices shows the terminal of a program as the console, so that it has a
// name inside, and closes the directory for writing.
func finishDevices(host, dev, terminal int) error {
	if terminal >= 0 {
		if err := showConsole(host, dev, terminal); err != nil {
			return failed(plan.Devices, "/dev/console", err)
		}
	}
	return failed(plan.Devices, "/dev", setMounts(dev, 0, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// showConsole does without if the terminal has no name on the host, either.
func showConsole(host, dev, terminal int) error {
	name := make([]byte, 256)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(terminal), name)
	if err != nil || n == 0 || name[0] != '/' {
		return err
	}
	place, err := at(host, string(name[:n]))
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(place)
	var is, found unix.Stat_t
	if err := unix.Fstat(terminal, &is); err != nil {
		return err
	}
	if err := unix.Fstat(place, &found); err != nil {
		return err
	}
	if is.Dev != found.Dev || is.Ino != found.Ino {
		return nil
	}
	return showNode(place, dev, "console")
}
