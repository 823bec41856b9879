package helper

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// mount does one step of a plan.
func (b *builder) mount(m *plan.Mount) (err error) {
	if !path.IsAbs(m.Path) || path.Clean(m.Path) != m.Path || m.Path == "/" {
		return failed(plan.Mounting, m.Path, unix.EINVAL)
	}
	tree, directory := -1, false
	switch m.Kind {
	case plan.Link:
		return failed(plan.Mounting, m.Path, b.link(m))
	case plan.BindReadOnly, plan.BindWritable:
		if isOwn(m.Path) {
			return nil
		}
		tree, directory, err = b.hostTree(m)
	case plan.CoverDirectory, plan.CoverFile, plan.CoverLink:
		directory = m.Kind == plan.CoverDirectory
		tree, err = b.cover(m)
	default:
		err = unix.EINVAL
	}
	if tree >= 0 {
		defer unix.Close(tree)
	}
	if err != nil {
		return failed(plan.Mounting, m.Path, err)
	}
	find := at
	if m.Kind == plan.CoverLink {
		find = linkAt
	}
	place, err := find(b.root, m.Path)
	if err == unix.ENOENT {
		place, err = b.makePlace(m.Path, directory)
	}
	if err != nil {
		return failed(plan.Mounting, m.Path, err)
	}
	err = attach(tree, place)
	unix.Close(place)
	b.done = append(b.done, *m)
	return failed(plan.Mounting, m.Path, err)
}

// isOwn tells whether a path is one that the root has its own of, which the host's
// must never replace: it would show its processes.
func isOwn(path string) bool {
	return path == "/dev" || path == "/proc" || strings.HasPrefix(path, "/proc/")
}

// hostTree copies what the host has at a path.
func (b *builder) hostTree(m *plan.Mount) (tree int, directory bool, err error) {
	source, err := at(b.host, m.Path)
	if err != nil {
		return -1, false, err
	}
	defer unix.Close(source)
	if directory, err = isDirectory(source); err != nil {
		return -1, false, err
	}
	attributes := uint64(inert)
	if m.Kind == plan.BindReadOnly {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	tree, err = copyMounts(source, attributes)
	return tree, directory, err
}

// cover makes an empty file or directory, and shows it read-only.
func (b *builder) cover(m *plan.Mount) (tree int, err error) {
	if b.covers < 0 {
		if b.covers, err = newMount("tmpfs", inert, "mode", "0700"); err != nil {
			return -1, err
		}
		if err = attachIn(b.covers, b.stage, stageCovers); err != nil {
			return -1, err
		}
	}
	name := strconv.Itoa(len(b.done))
	if m.Kind != plan.CoverDirectory {
		err = makeFile(b.covers, name, 0o600)
	} else {
		err = b.coverDirectory(m, name)
	}
	if err != nil {
		return -1, err
	}
	if err := unix.Fchmodat(b.covers, name, m.Mode&0o777, 0); err != nil {
		return -1, err
	}
	place, err := at(b.covers, name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(place)
	return copyMounts(place, inert|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
}

func (b *builder) coverDirectory(m *plan.Mount, name string) error {
	if err := unix.Mkdirat(b.covers, name, 0o700); err != nil {
		return err
	}
	dir, err := at(b.covers, name)
	if err != nil {
		return err
	}
	if old, ok := b.place[m.Path]; ok {
		unix.Close(old)
	}
	b.place[m.Path] = dir
	for _, inner := range m.Inner {
		if !isInner(inner) {
			return unix.EINVAL
		}
		if err := makeDirectories(dir, inner); err != nil {
			return err
		}
	}
	return nil
}

func isInner(p string) bool {
	return p != "" && p != "." && !path.IsAbs(p) && path.Clean(p) == p && p != ".." && !strings.HasPrefix(p, "../")
}

// makeDirectories makes a directory, and those above it.
func makeDirectories(dir int, p string) error {
	if p == "." {
		return nil
	}
	for i := range len(p) + 1 {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if err := unix.Mkdirat(dir, p[:i], 0o755); err != nil && err != unix.EEXIST {
			return err
		}
	}
	return nil
}

// makePlace makes what is to be mounted on, if that is in a file system of ours.
func (b *builder) makePlace(p string, directory bool) (int, error) {
	in, inner, err := b.ours(p)
	if err != nil {
		return -1, err
	}
	if directory {
		err = makeDirectories(in, inner)
	} else if err = makeDirectories(in, path.Dir(inner)); err == nil {
		err = makeFile(in, inner, 0o444)
	}
	if err != nil {
		return -1, err
	}
	return at(b.root, p)
}

// link makes a symbolic link.
func (b *builder) link(m *plan.Mount) error {
	in, inner, err := b.ours(m.Path)
	if err == nil {
		err = makeDirectories(in, path.Dir(inner))
	}
	if err != nil {
		return err
	}
	return unix.Symlinkat(m.Target, in, inner)
}

// ours returns the file system of ours that has a path, and the path in there. What
// the host has is never changed.
func (b *builder) ours(p string) (in int, inner string, err error) {
	covered, in := "", -1
	if b.c.Base == plan.Nothing {
		in = b.root
	}
	for _, m := range b.done { // the innermost counts, and of those the last
		if strings.HasPrefix(p, m.Path+"/") && len(m.Path) >= len(covered) {
			covered, in = m.Path, -1
			if m.Kind == plan.CoverDirectory {
				in = b.place[m.Path]
			}
		}
	}
	if in < 0 {
		return -1, "", unix.ENOENT
	}
	return in, strings.TrimPrefix(p[len(covered):], "/"), nil
}
