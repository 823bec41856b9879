//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// How files are opened: without waiting for the other end of a pipe, and without
// becoming those of a terminal's session.
const (
	openRead  = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	openWrite = os.O_WRONLY | os.O_CREATE | unix.O_NONBLOCK | unix.O_NOCTTY
	// noFollow opens no symbolic link.
	noFollow = unix.O_NOFOLLOW
)

const openDirectory = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK

// dir is an open directory. What is done in it is done there, whatever stands at
// its path meanwhile. In the nil dir, names are absolute paths.
type dir struct{ file *os.File }

func (d *dir) fd() int {
	if d == nil {
		return unix.AT_FDCWD
	}
	return int(d.file.Fd())
}

func (d *dir) Close() error { return d.file.Close() }

// open opens what has the name; flags are those of [os.OpenFile].
func (d *dir) open(name string, flags int, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.fd(), name, flags|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, unix.EINTR):
			return nil, err
		}
	}
}

// openDir opens a directory to look into it, also one that a symbolic link leads
// to.
func (d *dir) openDir(name string) (*dir, error) { return d.directory(name, openDirectory) }

// sub opens a directory to look into it. A symbolic link is none.
func (d *dir) sub(name string) (*dir, error) { return d.directory(name, openDirectory|noFollow) }

// pass opens a directory to go on from it, which needs no right to look into it.
func (d *dir) pass(name string) (*dir, error) { return d.directory(name, passDirectory|noFollow) }

func (d *dir) directory(name string, flags int) (*dir, error) {
	file, err := d.open(name, flags, 0)
	switch {
	case err == nil:
		return &dir{file}, nil
	case errors.Is(err, unix.ELOOP) && flags&noFollow != 0:
		return nil, unix.ENOTDIR // as Linux says
	}
	return nil, err
}

// names returns the next names in the directory, up to n; [io.EOF] follows the
// last.
func (d *dir) names(n int) ([]string, error) { return d.file.Readdirnames(n) }

// entries does the same, and tells of their types.
func (d *dir) entries(n int) ([]fs.DirEntry, error) { return d.file.ReadDir(n) }

// rewind lets names begin anew.
func (d *dir) rewind() error {
	_, err := d.file.Seek(0, 0)
	return err
}

func (d *dir) mkdir(name string) error { return unix.Mkdirat(d.fd(), name, 0o777) }

// unlink removes what is not a directory.
func (d *dir) unlink(name string) error { return unix.Unlinkat(d.fd(), name, 0) }

// rmdir removes an empty directory.
func (d *dir) rmdir(name string) error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) }

func (d *dir) symlink(target, name string) error { return unix.Symlinkat(target, d.fd(), name) }

func (d *dir) readlink(name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(d.fd(), name, buf)
		switch {
		case err != nil:
			return "", err
		case n < size:
			return string(buf[:n]), nil
		}
	}
}

// mayBeDirectory tells whether unlink may have failed because of a directory.
func mayBeDirectory(err error) bool {
	return errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM)
}

// fileMode returns the kind and the permissions of a file.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFDIR:
		m |= fs.ModeDir
	case syscall.S_IFLNK:
		m |= fs.ModeSymlink
	case syscall.S_IFIFO:
		m |= fs.ModeNamedPipe
	default:
		m |= fs.ModeIrregular
	}
	return m
}

// milliseconds returns a time in milliseconds since 1970.
func milliseconds(seconds, nanoseconds int64) int64 {
	return limited(seconds)*1000 + nanoseconds/1e6
}

// limited keeps seconds within what milliseconds can say.
func limited(seconds int64) int64 {
	const most = 1 << 53
	return max(-most, min(seconds, most))
}

// renameOver renames, and replaces what is at the destination.
func renameOver(from, to string) error { return unix.Rename(from, to) }

// info is what the system says of the directory itself.
func (d *dir) info() (fs.FileInfo, error) { return d.file.Stat() }
