//go:build unix

package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ownFolder tells whether a folder is there, and what is wrong with it if it is
// not this user's alone.
func ownFolder(path string, uid int) (there bool, err error) {
	s, err := statFolder(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return true, err
	case int(s.Uid) != uid:
		return true, fmt.Errorf("it belongs to user %d", s.Uid)
	case s.Mode&0o077 != 0:
		return true, fmt.Errorf("it is open to other users (mode %o): chmod it to 700", s.Mode&0o777)
	}
	return true, nil
}

// safeParent tells what is wrong with a folder in which nobody else may exchange
// one of this user's for another.
func safeParent(path string, uid int) error {
	s, err := statFolder(path)
	switch {
	case err != nil:
		return err
	case s.Uid != 0 && int(s.Uid) != uid:
		return fmt.Errorf("%s belongs to user %d", path, s.Uid)
	case s.Mode&0o022 != 0 && s.Mode&syscall.S_ISVTX == 0:
		return fmt.Errorf("%s can be written to by others and is not sticky: `chmod +t` it", path)
	}
	return nil
}

func statFolder(path string) (*syscall.Stat_t, error) {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return nil, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if s.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return nil, fmt.Errorf("%s is not a folder", path)
	}
	return &s, nil
}

// exists tells whether a file of the system is there.
func (h *host) exists(path string) bool {
	_, err := os.Lstat(h.root + path)
	return err == nil
}

// listen implements host.
func listen(folder string) (err error) {
	own, err := os.MkdirTemp(folder, "airlock-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(own)) }()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(own, "s")})
	if err != nil {
		return err
	}
	defer listener.Close() // which removes the socket
	_ = listener.SetDeadline(time.Now().Add(patience / 2))
	client, err := net.DialUnix("unix", nil, listener.Addr().(*net.UnixAddr))
	if err != nil {
		return err
	}
	defer client.Close()
	conn, err := listener.AcceptUnix()
	if err != nil {
		return err
	}
	defer conn.Close()
	return checkPeer(conn)
}

// openTemp implements host. It makes a file as the output log does.
func openTemp(folder string) (made tempFile, err error) {
	file, err := openNameless(folder)
	made.nameless = err == nil
	if errors.Is(err, errors.ErrUnsupported) {
		file, err = openRemoved(folder)
	}
	if err != nil {
		return tempFile{}, err
	}
	defer file.Close()
	made.reserved = reserve(file)
	if _, err := file.WriteAt([]byte("airlock"), 0); err != nil {
		return tempFile{}, err
	}
	return made, nil
}

func openRemoved(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, "airlock-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// descriptors implements host. The runtime has raised the soft limit to the hard
// one by now, as it does in the daemon.
func descriptors() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // its type differs between systems
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

const moreDescriptors = "Raise the hard limit where Airlock is started: LimitNOFILE=65536 in a systemd unit, " +
	"`docker run --ulimit nofile=65536:65536`, `* hard nofile 65536` in /etc/security/limits.conf, or `ulimit -Hn` in the shell of root."
