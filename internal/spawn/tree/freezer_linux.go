package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// freezer are control groups of version 1. There is no flag to fork into one:
// the thread that forks is in it meanwhile. And the kernel does not kill, but it
// holds the members still while we do.
type freezer struct {
	*cgroups
	home int // the tasks of our own control group
}

func openFreezer(config Config) (method, []string, error) {
	parent, err := ownCgroup("freezer")
	if err != nil {
		return nil, nil, err
	}
	f := freezer{}
	if f.home, err = openTasks(parent); err != nil {
		return nil, nil, err
	}
	if f.cgroups, err = openCgroups(version1{}, parent, config.Registrar); err != nil {
		unix.Close(f.home)
		return nil, nil, err
	}
	p, err := f.place()
	if err == nil {
		err = probe(p)
	}
	if err != nil {
		_ = f.close()
		return nil, nil, err
	}
	p.release()
	return f, nil, nil
}

// place implements [method].
func (f freezer) place() (place, error) {
	l, err := f.take()
	if err != nil {
		return nil, err
	}
	return &freezerPlace{seat: seat{leaf: l, owner: f.cgroups}, home: f.home}, nil
}

// close implements [method].
func (f freezer) close() error {
	err := f.cgroups.close()
	unix.Close(f.home)
	return err
}

type freezerPlace struct {
	seat
	home int
}

func (p *freezerPlace) enter(*syscall.SysProcAttr) error { return moveHere(p.fd) }

func (p *freezerPlace) leave() {
	// What was possible a moment ago may fail because of a shortage of memory.
	pauses := pauses{deadline: time.Now().Add(killTime)}
	for moveHere(p.home) != nil && pauses.next() {
	}
}

// broken knows what the kernel says of a control group that has been removed.
func (p *freezerPlace) broken(err error) bool {
	broken := errors.Is(err, unix.ENODEV)
	if broken {
		p.odd.Store(true)
		p.owner.weed()
	}
	return broken
}

// moveHere moves the calling thread to the control group whose tasks are open.
func moveHere(tasks int) error {
	_, err := unix.Write(tasks, []byte("0"))
	for err == unix.EINTR {
		_, err = unix.Write(tasks, []byte("0"))
	}
	if err != nil {
		return os.NewSyscallError("moving a thread to another control group", err)
	}
	return nil
}

func openTasks(path string) (int, error) {
	path = filepath.Join(path, "tasks")
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

type version1 struct{}

func (version1) means() Means      { return Freezer }
func (version1) fileSystem() int64 { return unix.CGROUP_SUPER_MAGIC }

func (version1) open(path string) (int, error) { return openTasks(path) }

func (version1) state(l *leaf) (empty, intact bool) {
	members, err := readMembers(l.path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist), false
	}
	var s unix.Stat_t
	intact = unix.Stat(l.path, &s) == nil && s.Nlink == 2 // nothing is in it
	if !intact {
		return len(members) == 0 && nobodyBelow(l.path), false
	}
	state, err := readFile(filepath.Join(l.path, "freezer.state"))
	return len(members) == 0, err == nil && state == "THAWED\n"
}

// nobodyBelow tells whether the control groups in one have no members.
func nobodyBelow(path string) bool {
	for _, sub := range subgroups(path) {
		if members, err := readMembers(sub); err != nil || len(members) > 0 || !nobodyBelow(sub) {
			return false
		}
	}
	return true
}

func subgroups(path string) (paths []string) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	return paths
}

// readMembers returns the processes in a control group. Zombies are in none.
func readMembers(path string) (pids []int, err error) {
	list, err := readFile(filepath.Join(path, "cgroup.procs"))
	if errors.Is(err, unix.ENODEV) {
		err = os.ErrNotExist // it is being removed
	}
	for line := range strings.Lines(list) {
		if pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

func (version1) kill(path string, deadline time.Time) bool {
	return killOneByOne(path, "freezer.state", "FROZEN", "THAWED", deadline)
}

// killOneByOne kills the members of a control group, and of those in it, while
// they are frozen, if they can be.
func killOneByOne(path, switcher, frozen, thawed string, deadline time.Time) bool {
	p := pauses{deadline: deadline}
	for {
		// Members of what is in it are frozen with it, but not listed.
		_ = writeFile(filepath.Join(path, switcher), frozen)
		left := killMembers(path)
		_ = writeFile(filepath.Join(path, switcher), thawed)
		if left == 0 || !p.next() {
			return left == 0
		}
	}
}

// killMembers kills the members of a control group and of those in it, and
// returns how many there were, or more than none if that is not known.
func killMembers(path string) (n int) {
	members, err := readMembers(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		return 1
	}
	killVerified(members, func() []int {
		still, _ := readMembers(path)
		return still
	})
	n = len(members)
	for _, sub := range subgroups(path) {
		n += killMembers(sub)
	}
	return n
}
