package tree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup2 are control groups of version 2. A child is born in one by a flag of
// clone3, which costs nothing; the kernel kills a whole one at once.
type cgroup2 struct{ *cgroups }

func openCgroup2(config Config) (method, []string, error) {
	parent, err := ownCgroup("")
	if err != nil {
		return nil, nil, err
	}
	c, err := openCgroups(version2{}, parent, config.Registrar)
	if err != nil {
		return nil, nil, err
	}
	if err := (cgroup2{c}).check(); err != nil {
		_ = c.close()
		return nil, nil, err
	}
	return cgroup2{c}, nil, nil
}

func (c cgroup2) check() error {
	if _, err := os.Stat(filepath.Join(c.top, "cgroup.kill")); err != nil {
		return errors.New("the kernel cannot kill a control group (that came with Linux 5.14)")
	}
	p, err := c.place()
	if err != nil {
		return err
	}
	if err := probe(p); err != nil {
		return fmt.Errorf("starting a process in %s: %w", c.top, err)
	}
	p.release()
	return nil
}

// place implements [method].
func (c cgroup2) place() (place, error) {
	l, err := c.take()
	if err != nil {
		return nil, err
	}
	return &cgroup2Place{seat{leaf: l, owner: c.cgroups}}, nil
}

type cgroup2Place struct{ seat }

func (p *cgroup2Place) enter(attr *syscall.SysProcAttr) error {
	attr.UseCgroupFD, attr.CgroupFD = true, p.fd
	return nil
}

func (*cgroup2Place) leave() {}

// broken knows what clone3 says of a control group that has been removed, that
// has got controllers for others in it, or that has become one for threads. Of
// a removed one it says what execve says of a missing program.
func (p *cgroup2Place) broken(err error) bool {
	broken := errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EOPNOTSUPP)
	if errors.Is(err, unix.ENOENT) {
		broken = unix.Faccessat(p.fd, "cgroup.events", unix.R_OK, 0) == unix.ENOENT
	}
	if broken {
		p.odd.Store(true)
		p.owner.weed()
	}
	return broken
}

type version2 struct{}

func (version2) means() Means      { return Cgroup2 }
func (version2) fileSystem() int64 { return unix.CGROUP2_SUPER_MAGIC }

func (version2) open(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

func (version2) state(l *leaf) (empty, intact bool) {
	fd, err := unix.Openat(l.fd, "cgroup.events", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err == unix.ENOENT || err == unix.ENODEV, false // it has been removed
	}
	defer unix.Close(fd)
	empty, thawed := readEvents(fd)
	var s unix.Stat_t
	intact = unix.Fstat(l.fd, &s) == nil && s.Nlink == 2 // nothing is in it
	return empty, thawed && intact
}

// readEvents reads cgroup.events.
func readEvents(fd int) (empty, thawed bool) {
	var buf [128]byte
	n, err := unix.Pread(fd, buf[:], 0)
	if err != nil {
		return err == unix.ENODEV, false
	}
	events := buf[:n]
	return bytes.Contains(events, []byte("populated 0\n")), !bytes.Contains(events, []byte("frozen 1\n"))
}

func (version2) kill(path string, deadline time.Time) bool {
	p := pauses{deadline: deadline}
	for {
		err := killCgroup2(path)
		if err == nil {
			var events *os.File
			if events, err = watchEvents(path); err == nil {
				// One kill is enough, forks in progress included. But a member
				// may have been moved here since.
				until := time.Now().Add(killTime / 4)
				if deadline.Before(until) {
					until = deadline
				}
				empty := awaitEmpty(events, until)
				events.Close()
				if empty {
					return true
				}
			}
		}
		if errors.Is(err, os.ErrNotExist) && unix.Access(path, unix.F_OK) == nil {
			return killOneByOne(path, "cgroup.freeze", "1", "0", deadline) // before Linux 5.14
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return true // the control group has been removed
		}
		// Without a free descriptor nothing can be done. There will be one.
		if hidden(err) || !p.next() {
			return false
		}
	}
}

func killCgroup2(path string) error {
	path = filepath.Join(path, "cgroup.kill")
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte("1")); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// watchEvents opens cgroup.events in such a way that a wait for a change takes
// no thread.
func watchEvents(path string) (*os.File, error) {
	path = filepath.Join(path, "cgroup.events")
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// awaitEmpty waits until there are no members, or until the deadline.
func awaitEmpty(events *os.File, deadline time.Time) (empty bool) {
	conn, err := events.SyscallConn()
	if err != nil {
		return false
	}
	look := func(fd uintptr) bool {
		empty, _ = readEvents(int(fd))
		return empty
	}
	// Changes are told of once in 10 ms; most of what is killed is gone sooner.
	p := pauses{deadline: deadline}
	for range 4 {
		_ = conn.Control(func(fd uintptr) { look(fd) })
		if empty || !p.next() {
			return empty
		}
	}
	if events.SetReadDeadline(deadline) == nil {
		_ = conn.Read(look)
		return empty
	}
	// The poller has no room.
	for !empty && p.next() {
		_ = conn.Control(func(fd uintptr) { look(fd) })
	}
	return empty
}
