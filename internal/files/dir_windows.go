package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

const (
	openRead  = os.O_RDONLY
	openWrite = os.O_WRONLY | os.O_CREATE
	// noFollow opens no symbolic link. The number is none of the system's.
	noFollow = 1 << 30
)

// dir is an open directory. What is done in it is done there, whatever stands at
// its path meanwhile. In the nil dir, names are absolute paths.
type dir struct {
	root *os.Root
	list *os.File // nil until its names are asked for
}

func (d *dir) Close() error {
	if d.list != nil {
		d.list.Close()
	}
	return d.root.Close()
}

// open opens what has the name; flags are those of [os.OpenFile].
func (d *dir) open(name string, flags int, perm fs.FileMode) (*os.File, error) {
	if flags&noFollow != 0 {
		if st, err := d.status(name, false); err == nil && st.isLink() {
			return nil, syscall.ELOOP
		}
		flags &^= noFollow
	}
	if d == nil {
		return os.OpenFile(name, flags, perm)
	}
	return d.root.OpenFile(name, flags, perm)
}

// openDir opens a directory to look into it, also one that a symbolic link leads
// to.
func (d *dir) openDir(name string) (*dir, error) {
	open := os.OpenRoot
	if d != nil {
		open = d.root.OpenRoot
	}
	root, err := open(name)
	if err != nil {
		return nil, err
	}
	return &dir{root: root}, nil
}

// sub opens a directory to look into it. A symbolic link is none.
func (d *dir) sub(name string) (*dir, error) {
	st, err := d.status(name, false)
	switch {
	case err != nil:
		return nil, err
	case st.isLink():
		return nil, syscall.ENOTDIR
	}
	return d.openDir(name)
}

// pass opens a directory to go on from it.
func (d *dir) pass(name string) (*dir, error) { return d.sub(name) }

// names returns the next names in the directory, up to n; [io.EOF] follows the
// last.
func (d *dir) names(n int) ([]string, error) {
	if err := d.openList(); err != nil {
		return nil, err
	}
	return d.list.Readdirnames(n)
}

// entries does the same, and tells of their types.
func (d *dir) entries(n int) ([]fs.DirEntry, error) {
	if err := d.openList(); err != nil {
		return nil, err
	}
	return d.list.ReadDir(n)
}

func (d *dir) openList() (err error) {
	if d.list == nil {
		d.list, err = d.root.Open(".")
	}
	return err
}

// rewind lets names begin anew.
func (d *dir) rewind() error {
	err := d.list.Close()
	d.list = nil
	return err
}

// info is what the system says of the directory itself.
func (d *dir) info() (fs.FileInfo, error) { return d.root.Stat(".") }

func (d *dir) mkdir(name string) error {
	if d == nil {
		return os.Mkdir(name, 0o777)
	}
	return d.root.Mkdir(name, 0o777)
}

// unlink removes what is not a directory.
func (d *dir) unlink(name string) error {
	st, err := d.status(name, false)
	switch {
	case err != nil:
		return err
	case st.mode.IsDir():
		return syscall.EISDIR
	}
	return d.rmdir(name)
}

// rmdir removes an empty directory.
func (d *dir) rmdir(name string) error {
	if d == nil {
		return os.Remove(name)
	}
	return d.root.Remove(name)
}

func (d *dir) symlink(target, name string) error {
	if d == nil {
		return os.Symlink(target, name)
	}
	return d.root.Symlink(target, name)
}

func (d *dir) readlink(name string) (string, error) {
	if d == nil {
		return os.Readlink(name)
	}
	return d.root.Readlink(name)
}

// status returns what has the name, or what a symbolic link leads to if follow is
// set.
func (d *dir) status(name string, follow bool) (status, error) {
	var look func(string) (fs.FileInfo, error)
	switch {
	case d == nil && follow:
		look = os.Stat
	case d == nil:
		look = os.Lstat
	case follow:
		look = d.root.Stat
	default:
		look = d.root.Lstat
	}
	info, err := look(name)
	if err != nil {
		return status{}, err
	}
	st := status{mode: info.Mode(), size: uint64(max(info.Size(), 0)), modified: info.ModTime().UnixMilli()}
	if data, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		st.born = time.Unix(0, data.CreationTime.Nanoseconds()).UnixMilli()
	}
	return st, nil
}

// chmod sets the permissions; a symbolic link is refused unless follow is set.
func (d *dir) chmod(name string, mode uint32, follow bool) error {
	switch st, err := d.status(name, false); {
	case err != nil:
		return err
	case st.isLink() && !follow:
		return errLink
	case d == nil:
		return os.Chmod(name, fs.FileMode(mode).Perm())
	}
	return d.root.Chmod(name, fs.FileMode(mode).Perm())
}

// mayBeDirectory tells whether unlink may have failed because of a directory.
func mayBeDirectory(err error) bool { return errors.Is(err, syscall.EISDIR) }

// renameOver renames, and replaces what is at the destination.
func renameOver(from, to string) error { return os.Rename(from, to) }

// renameNew renames, unless there is something at the destination.
func renameNew(from, to string) error {
	source, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	destination, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(source, destination, 0)
}
