//go:build unix

package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/limits"
)

// Folders returns where control sockets of this user may be: nobody who is confined
// has anything to change there.
func Folders() []string { return defaultFolders(os.Geteuid()) }

// defaultFolders returns where control sockets of a user may be by default: an
// executor takes the first that works, and they are looked for in all of them,
// as not every program of a user has the same environment. The variable
// AIRLOCK_CONTROL_DIR names the only one.
func defaultFolders(uid int) []string {
	if dir := os.Getenv("AIRLOCK_CONTROL_DIR"); dir != "" {
		if absolute, err := filepath.Abs(dir); err == nil {
			dir = absolute
		}
		return []string{dir}
	}
	var folders []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && ownedBy(dir, uid) {
		folders = append(folders, filepath.Join(dir, "airlock"))
	}
	if uid == 0 {
		folders = append(folders, "/run/airlock")
	}
	if dir := filepath.Join("/run/user", strconv.Itoa(uid)); ownedBy(dir, uid) {
		folders = append(folders, filepath.Join(dir, "airlock"))
	}
	return append(folders, filepath.Join(os.TempDir(), "airlock-"+strconv.Itoa(uid)))
}

// openFolder opens the folder of a control socket, which is made if it is not
// there and make is set. It must belong to the user, and to nobody else.
func openFolder(dir string, uid int, create bool) (*os.File, error) {
	if create {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making the folder of the control socket: %w", err)
		}
	}
	folder, err := openNoFollow(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(folder, dir, uid); err != nil {
		_ = folder.Close()
		return nil, err
	}
	return folder, nil
}

func checkFolder(folder *os.File, dir string, uid int) error {
	info, err := folder.Stat()
	if err != nil {
		return fmt.Errorf("looking at the folder of the control socket: %w", err)
	}
	if owner := ownerOf(info); owner != uid {
		return fmt.Errorf("%s, the folder of the control socket, belongs to user %d, not to %d: %s",
			dir, owner, uid, otherPlace(info, dir, uid))
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o077 == 0:
		return nil
	case isMadeByUs(info, dir, uid):
		return fmt.Errorf("%s, the folder of the control socket, is open to others (mode %04o): "+
			"run `chmod 700 %s`, or choose another place with --control-socket", dir, mode, dir)
	}
	return fmt.Errorf("%s, the folder of the control socket, is open to others (mode %04o): %s", dir, mode, otherPlace(info, dir, uid))
}

// isMadeByUs tells the folders that we make by default from those that others may
// need to be as they are.
func isMadeByUs(info os.FileInfo, dir string, uid int) bool {
	name := filepath.Base(dir)
	return (name == "airlock" || name == "airlock-"+strconv.Itoa(uid)) && info.Mode()&os.ModeSticky == 0 && !isHere(info)
}

// isHere tells the working directory.
func isHere(info os.FileInfo) bool {
	here, err := os.Stat(".")
	return err != nil || os.SameFile(here, info)
}

// otherPlace advises how to find a place, without any harm to a folder that is there.
func otherPlace(info os.FileInfo, dir string, uid int) string {
	text := "choose another place with --control-socket. A folder that is not there yet is made, and closed to others"
	owner := ownerOf(info)
	safe := owner == uid || owner == 0 && info.Mode()&os.ModeSticky != 0 // nobody else can move what is made there
	if !safe || unix.Access(dir, unix.W_OK) != nil {
		return text
	}
	for _, more := range []string{"", "-2", "-3"} {
		proposed := filepath.Join(dir, "airlock-"+strconv.Itoa(uid)+more)
		if _, err := os.Lstat(proposed); errors.Is(err, os.ErrNotExist) {
			return text + ": --control-socket " + filepath.Join(proposed, "control.sock")
		}
	}
	return text
}

// openNoFollow opens a folder; a symbolic link to one is none.
func openNoFollow(dir string) (*os.File, error) {
	folder, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s, where the folder of the control socket should be, is something else, "+
			"or a symbolic link: choose another place with --control-socket, or what the link leads to", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the folder of the control socket: %w", err)
	}
	return folder, nil
}

func ownerOf(info os.FileInfo) int {
	if status, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(status.Uid)
	}
	return -1
}

// ownedBy tells whether a path is a folder of the user's.
func ownedBy(dir string, uid int) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && ownerOf(info) == uid
}

// lock has the folder to oneself until it is closed: while sockets are made and
// those without an executor are removed.
func lock(folder *os.File) error {
	timeout := time.After(limits.ControlLockTimeout)
	for {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("locking %s: %w", folder.Name(), err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-timeout:
			return fmt.Errorf("locking %s: another executor has kept it locked for %v", folder.Name(), limits.ControlLockTimeout)
		}
	}
}
