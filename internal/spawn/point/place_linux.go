package point

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
)

// mark is a mount point that is held: its lock is shared with others.
type mark struct {
	fd  int
	own unix.Stat_t // which file it is
}

var (
	errHeld = errors.New("it is locked by another process, which ought to hold the lock for a moment only: find it with `lslocks` and end it")

	// errForeign is for what goes away when another user's sandbox has ended, and
	// with it what would be mounted there.
	errForeign = errors.New("it is there for a sandbox of another user: wait until that has ended; " +
		"if none runs, or to let both run at the same time, put something of your own in its place")

	errLink = errors.New("there is a symbolic link now: start the command again")

	errModes = errors.New("its file system does not keep the permissions by which a mount point is known, so it has been removed again: " +
		"put something there of your own")

	errNoLocks = errors.New("its file system has no locks (flock), so it could be removed by another executor at any time: " +
		"put something there of your own")
)

// What tests replace.
var (
	flock       = unix.Flock
	lockTimeout = limits.PointLockTimeout
)

// hold makes sure that there is something at the place. The mark is nil if it is
// not a mount point of ours.
func hold(p Point) (*mark, State, error) {
	parent, err := openParent(p.Path)
	if err != nil {
		return nil, Absent, &os.PathError{Op: "open", Path: filepath.Dir(p.Path), Err: err}
	}
	defer unix.Close(parent)
	name := filepath.Base(p.Path)
	deadline := time.Now().Add(lockTimeout)
	for pause := time.Millisecond; ; {
		m, state, err := find(parent, name)
		if err == nil {
			return m, state, nil
		}
		if err == unix.ENOENT {
			err = makeMark(parent, name, p.Directory)
			if err == nil {
				continue
			}
			if refused(err) && !ownedByUs(parent) {
				return nil, Absent, nil
			}
		}
		switch err {
		case unix.EWOULDBLOCK, unix.EEXIST:
			err = errHeld
		case errForeign:
		default:
			return nil, Absent, placeError(p.Path, err)
		}
		if time.Now().After(deadline) {
			return nil, Absent, &os.PathError{Op: "lock", Path: p.Path, Err: err}
		}
		<-time.After(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// refused tells whether an error says that nobody without more rights can make
// anything there.
func refused(err error) bool { return err == unix.EACCES || err == unix.EPERM || err == unix.EROFS }

// ownedByUs tells whether a directory that can't be written to could be made so
// by us, and by a confined program: it is of our user, on what can be written to.
func ownedByUs(dir int) bool {
	var s unix.Stat_t
	var fs unix.Statfs_t
	return unix.Fstat(dir, &s) == nil && int(s.Uid) == os.Geteuid() &&
		unix.Fstatfs(dir, &fs) == nil && fs.Flags&unix.ST_RDONLY == 0
}

func placeError(path string, err error) error {
	if refused(err) {
		return fmt.Errorf("nothing can be put at %s, which has to be covered, because its directory is not writable (%w); "+
			"but a command could change that, as it is of the same user: make the directory writable, or give it to another user", path, err)
	}
	return fmt.Errorf("making a mount point at %s: %w", path, err)
}

// openParent opens the directory of a path that is free of links.
func openParent(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir := filepath.Dir(path)
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or under an old filter of system calls
		return unix.Open(dir, flags, 0)
	}
	return fd, err
}

// find looks at what is there. The error is ENOENT if nothing is, and EWOULDBLOCK
// if somebody is about to remove it.
func find(parent int, name string) (*mark, State, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, Absent, err
	}
	state := File
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		state = Directory
	case unix.S_IFLNK:
		return nil, Absent, errLink
	}
	if !isMark(&s) {
		return nil, state, nil
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.EACCES && int(s.Uid) != os.Geteuid() {
		// It can't be locked, which there is no need for if nothing can be put in its
		// place.
		if mayReplace := unix.Faccessat(parent, ".", unix.W_OK, unix.AT_EACCESS) == nil; mayReplace {
			return nil, Absent, errForeign
		}
		return nil, state, nil
	}
	if err != nil {
		return nil, Absent, err
	}
	m := &mark{fd: fd}
	err = flock(fd, unix.LOCK_SH|unix.LOCK_NB)
	if err == unix.ENOLCK || err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		// Nobody holds it, as nobody can.
		_ = unmake(parent, name, state == Directory)
		err = errNoLocks
	}
	if err == nil {
		err = unix.Fstat(fd, &m.own)
	}
	if err == nil && !m.isAt(parent, name) {
		err = unix.EEXIST // it was removed, and perhaps made again, since it was opened
	}
	if err != nil {
		m.close()
		return nil, Absent, err
	}
	return m, state, nil
}

// makeMark makes a mount point, with its mode at once. Others may have removed it
// again when it returns.
func makeMark(parent int, name string, directory bool) error {
	var made unix.Stat_t
	if directory {
		if err := unix.Mkdirat(parent, name, unix.S_ISVTX|uint32(directoryMode.Perm())); err != nil {
			return err
		}
		if err := unix.Fstatat(parent, name, &made, unix.AT_SYMLINK_NOFOLLOW); err == unix.ENOENT {
			return nil
		}
	} else {
		const flags = unix.O_RDONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		fd, err := unix.Openat(parent, name, flags, unix.S_ISVTX|uint32(fileMode.Perm()))
		if err != nil {
			return err
		}
		_ = unix.Fstat(fd, &made)
		unix.Close(fd)
	}
	if isMark(&made) {
		return nil
	}
	// Nobody would know it for what it is, nor ever remove it.
	return errors.Join(errModes, unmake(parent, name, directory))
}

// unmake removes what has just been made.
func unmake(parent int, name string, directory bool) error {
	flags := 0
	if directory {
		flags = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(parent, name, flags)
}

// isMark is what [IsMark] is.
func isMark(s *unix.Stat_t) bool {
	switch mode := s.Mode & 0o7777; s.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return mode&^unix.S_ISGID|optional == unix.S_ISVTX|uint32(directoryMode.Perm())
	case unix.S_IFREG:
		return mode|optional&uint32(fileMode.Perm()) == unix.S_ISVTX|uint32(fileMode.Perm()) && s.Size == 0
	}
	return false
}

// isAt tells whether it is still there, and still a mount point.
func (m *mark) isAt(parent int, name string) bool {
	var s unix.Stat_t
	err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && s.Dev == m.own.Dev && s.Ino == m.own.Ino && isMark(&s)
}

// isThere is isAt by a path.
func (m *mark) isThere(path string) bool {
	parent, err := openParent(path)
	if err != nil {
		return false
	}
	defer unix.Close(parent)
	return m.isAt(parent, filepath.Base(path))
}

// remove removes it unless others hold it, who will then. It is to be closed.
func (m *mark) remove(path string) error {
	switch err := flock(m.fd, unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
	case unix.EWOULDBLOCK:
		return nil
	default:
		return &os.PathError{Op: "lock", Path: path, Err: err}
	}
	parent, err := openParent(path)
	if err != nil {
		return gone(path, err)
	}
	defer unix.Close(parent)
	name := filepath.Base(path)
	if !m.isAt(parent, name) {
		return nil // somebody has made something else of it
	}
	err = unmake(parent, name, m.own.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err == unix.ENOTEMPTY || refused(err) && int(m.own.Uid) != os.Geteuid() {
		return nil // it has become something else, or is its owner's to remove
	}
	return gone(path, err)
}

// gone is the error of a removal: it is none if nothing is there any more.
func gone(path string, err error) error {
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	return &os.PathError{Op: "remove", Path: path, Err: err}
}

func (m *mark) close() { unix.Close(m.fd) }
