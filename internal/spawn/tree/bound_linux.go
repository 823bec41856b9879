package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupBound are the control groups that hold one tree within its bounds: a group
// of each hierarchy that has one of the controllers. Version 2 has one hierarchy;
// if trees are held together by it, too, the group is the tree's place.
type groupBound struct {
	groups    []*boundGroup
	memory    *boundGroup // the one that counts memory; may be nil
	mechanism map[string]Mechanism
	first     []Write // what a member has to write
}

type boundGroup struct {
	*leaf
	owner *cgroups
	seat  bool // it is the place of the tree, which sees to it
}

func (b *groupBound) entry() []Write { return b.first }

func (b *groupBound) mechanisms() (memory, processes Mechanism) {
	return b.mechanism["memory"], b.mechanism["pids"]
}

// outOfMemory reads how many have been killed, which Linux counts since 4.13.
func (b *groupBound) outOfMemory() bool {
	if b.memory == nil {
		return false
	}
	file := "memory.oom_control"
	if b.memory.owner.version.means() == Cgroup2 {
		file = "memory.events"
	}
	text, err := readFile(filepath.Join(b.memory.path, file))
	return err == nil && oomKills(text) > 0
}

func oomKills(text string) (kills uint64) {
	for line := range strings.Lines(text) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ = strconv.ParseUint(strings.TrimSpace(count), 10, 64)
		}
	}
	return kills
}

func (b *groupBound) members() (found []Member, complete bool) {
	complete = true
	for _, g := range b.groups {
		if g.seat {
			continue
		}
		some, ok := verifiedMembers(func() ([]int, error) { return listBelow(g.path) })
		found, complete = append(found, some...), complete && ok
	}
	return found, complete
}

func (b *groupBound) kill() bool {
	dead := true
	for _, g := range b.groups {
		if !g.seat {
			dead = g.owner.version.kill(g.path, time.Now().Add(killTime)) && dead
		}
	}
	return dead
}

func (b *groupBound) empty() bool {
	for _, g := range b.groups {
		if g.seat {
			continue
		}
		if empty, _ := g.owner.version.state(g.leaf); !empty {
			return false
		}
	}
	return true
}

func (b *groupBound) release() {
	for _, g := range b.groups {
		if !g.seat {
			g.owner.put(g.leaf, false)
		}
	}
}

// group returns the group in a hierarchy, which it makes first if need be.
func (b *groupBound) group(c *cgroups, seat bool) (*boundGroup, error) {
	for _, g := range b.groups {
		if g.owner == c {
			return g, nil
		}
	}
	l, err := c.take()
	if err != nil {
		return nil, err
	}
	g := &boundGroup{leaf: l, owner: c, seat: seat}
	b.groups = append(b.groups, g)
	if !seat {
		b.first = append(b.first, Write{filepath.Join(l.path, "cgroup.procs"), "0"})
	}
	return g, nil
}

// set makes a group bound what a controller bounds.
func (b *groupBound) set(g *boundGroup, c controller, m Mechanism, value uint64, swaps string) error {
	writes, err := resolve(g.path, c.settings[m](value), swaps)
	if err != nil {
		return err
	}
	if g.seat {
		// Whoever has to execute the program is born there, and may need more
		// than the program will be allowed.
		for _, w := range writes {
			if err := unix.Access(w.Path, unix.W_OK); err != nil {
				return &os.PathError{Op: "write", Path: w.Path, Err: err}
			}
		}
		b.first = append(b.first, writes...)
		return nil
	}
	for _, w := range writes {
		if err := writeFile(w.Path, w.Text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes to a file of the kernel's, which has to be there.
func writeFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	for err == unix.EINTR {
		_, err = unix.Write(fd, []byte(text))
	}
	if err != nil {
		return &os.PathError{Op: "write " + strconv.Quote(text) + " to", Path: path, Err: err}
	}
	return nil
}

// controller1 are control groups of version 1 with any controller. Without the
// freezer's they are killed while they run.
type controller1 struct{ version1 }

// cgroup1 is what records call what bounds a tree by version 1.
const cgroup1 Means = "cgroup1"

func (controller1) means() Means { return cgroup1 }

// open opens nothing: processes move themselves there.
func (controller1) open(string) (int, error) { return -1, nil }

func (controller1) kill(path string, deadline time.Time) bool {
	p := pauses{deadline: deadline}
	for {
		left := killMembers(path)
		if left == 0 || !p.next() {
			return left == 0
		}
	}
}

func (controller1) state(l *leaf) (empty, intact bool) {
	members, err := readMembers(l.path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist), false
	}
	return len(members) == 0 && nobodyBelow(l.path), false
}
