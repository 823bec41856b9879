package helper

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Mounts are made on descriptors: whoever swaps a name for a link meanwhile gets
// an error, and nothing else is mounted, or mounted on, than what was looked at.

// inert is for everything but devices.
const inert = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// at returns an absolute path, free of links, as seen from a root.
func at(root int, path string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	return unix.Openat2(root, relative(path), &how)
}

// linkAt returns a symbolic link that an absolute path is, as seen from a root. There
// are no others on the way.
func linkAt(root int, path string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(root, relative(path), &how)
	if err != nil {
		return -1, err
	}
	var s unix.Stat_t
	if err = unix.Fstat(fd, &s); err == nil && s.Mode&unix.S_IFMT != unix.S_IFLNK {
		err = unix.ESTALE // somebody has put something else there
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func relative(path string) string {
	if path = strings.TrimPrefix(path, "/"); path != "" {
		return path
	}
	return "."
}

// newMount mounts a file system of a kind, with options in pairs, attached nowhere.
func newMount(kind string, attributes int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for i := 0; i < len(options); i += 2 {
		if err := unix.FsconfigSetString(fs, options[i], options[i+1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
}

// copyMounts copies what is mounted at a place and below it, attached nowhere.
func copyMounts(fd int, attributes uint64) (int, error) {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, err
	}
	if attributes != 0 {
		if err := setMounts(tree, unix.AT_RECURSIVE, unix.MountAttr{Attr_set: attributes}); err != nil {
			unix.Close(tree)
			return -1, err
		}
	}
	return tree, nil
}

func setMounts(fd int, recursive uint, attributes unix.MountAttr) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|recursive, &attributes)
}

// attach moves a mount onto a place.
func attach(tree, place int) error {
	return unix.MoveMount(tree, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// attachIn moves a mount onto a name in a directory.
func attachIn(tree, dir int, name string) error {
	return unix.MoveMount(tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// show mounts a place onto a name in a directory.
func show(place int, attributes uint64, dir int, name string) error {
	tree, err := copyMounts(place, attributes)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return attachIn(tree, dir, name)
}

// makeFile makes an empty file.
func makeFile(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func isDirectory(fd int) (bool, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return false, err
	}
	return s.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}
