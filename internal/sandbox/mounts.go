package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/limits"
)

// Modes of what covers something.
const (
	modeClosed    = 0
	modePassage   = 0o111 // leads to what is below, and shows nothing
	modeDirectory = 0o555
	modeFile      = 0o444
)

// isolate makes the root of a plan from the rules.
func (r *resolver) isolate(p *Plan) error {
	p.Kind = Isolated
	root := r.rules.byPath["/"]
	switch root.grade {
	case writable:
		p.Base = plan.Writable
	case readable:
		p.Base = plan.ReadOnly
	default:
		p.Base = plan.Nothing
		r.linkMounts(p)
	}
	if err := r.pin(); err != nil {
		return err
	}
	m := mounter{plan: p, grades: map[string]grade{"/": root.grade}, covers: make(map[string]int)}
	for _, one := range r.rules.sorted() {
		if one.path != "/" && !madeInside(one) {
			m.add(one)
		} else if one.path != "/" {
			r.warn("%s has no effect: %s is the sandbox's own", one.origin, one.path)
			continue
		}
		p.list(one)
	}
	if len(p.Mounts) > limits.SandboxMounts {
		return r.crowded()
	}
	r.sockets(p)
	r.start(p)
	return nil
}

// pin adds rules for the directories between a rule and one that it lies in, which are
// mounted for that: a command that could move one of them could put another one in its
// place, and so decide what the rule is about the next time. That holds for what a
// pattern matches, too: it would not be found where nobody looks for it, or looks while
// it is being moved.
func (r *resolver) pin() error {
	for _, one := range r.rules.sorted() {
		above, _ := r.rules.above(one.path)
		if above.grade != writable || madeInside(one) {
			continue
		}
		for dir := parent(one.path); dir != above.path; dir = parent(dir) {
			r.rules.add(rule{path: dir, grade: writable, origin: above.origin, directory: true, pinned: true})
			if len(r.rules.byPath) > limits.SandboxMounts {
				return r.crowded()
			}
		}
	}
	return nil
}

// crowded is the error of a policy that takes too much of the kernel.
func (r *resolver) crowded() error {
	return r.fault("the policy comes to more than %d mounts: deny directories in place of the files in them", limits.SandboxMounts)
}

// madeInside tells whether a rule is about what a sandbox has of its own: /proc, and
// /dev but for what is kept in /dev/shm. What is denied there is not there, or is
// denied.
func madeInside(one rule) bool {
	switch {
	case within(one.path, "/dev/shm"):
		return false
	case one.path == "/proc" || one.path == "/dev":
		return one.grade != denied
	case within(one.path, "/proc"):
		digit := one.path[len("/proc/")]
		return one.grade != denied || '0' <= digit && digit <= '9' // another process has that number
	case within(one.path, "/dev"):
		return one.grade != denied || !slices.Contains(devices, one.path)
	}
	return false
}

// devices are those that a sandbox has.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// list adds what a rule says to what the plan tells.
func (p *Plan) list(one rule) {
	switch {
	case one.missing, one.pinned:
	case one.grade == writable:
		p.Writable = append(p.Writable, one.path)
	case one.grade == readable:
		p.Readable = append(p.Readable, one.path)
	default:
		p.Denied = append(p.Denied, one.path)
	}
}

// linkMounts makes the links that lead to what is shown, where there is nothing else.
func (r *resolver) linkMounts(p *Plan) {
	made := make(map[string]bool)
	for _, l := range r.links {
		if made[l.path] || r.rules.grade(l.path) != 0 || within(l.path, "/proc") || within(l.path, "/dev") {
			continue
		}
		made[l.path] = true
		p.Mounts = append(p.Mounts, plan.Mount{Kind: plan.Link, Path: l.path, Target: l.target})
	}
	slices.SortFunc(p.Mounts, func(a, b plan.Mount) int { return comparePaths(a.Path, b.Path) })
}

// mounter turns rules into mounts, those that contain others first.
type mounter struct {
	plan   *Plan
	grades map[string]grade // of what has been mounted
	covers map[string]int   // the covering directories among the mounts
}

func (m *mounter) add(one rule) {
	below := m.nearest(one.path)
	shown := m.grades[below]
	switch {
	case one.missing && shown != writable:
		return // nobody can make it
	case shown == writable && one.grade == writable && one.directory:
		// It is mounted again, so that it can't be moved away.
	case shown == one.grade, shown == 0 && one.grade == denied:
		return // as it is, or not there
	}
	if i, covered := m.covers[below]; covered {
		m.passage(&m.plan.Mounts[i], one)
	}
	m.grades[one.path] = one.grade
	if one.missing {
		m.plan.Points = append(m.plan.Points, Point{Path: one.path, Directory: one.directory})
	}
	mount := plan.Mount{Path: one.path}
	switch {
	case one.grade == writable:
		mount.Kind = plan.BindWritable
	case one.grade == readable && !one.missing:
		mount.Kind = plan.BindReadOnly
	case one.directory:
		mount.Kind, mount.Mode = plan.CoverDirectory, modeDirectory
		m.covers[one.path] = len(m.plan.Mounts)
	case one.link:
		mount.Kind = plan.CoverLink
	default:
		mount.Kind, mount.Mode = plan.CoverFile, modeFile
	}
	if one.grade == denied {
		mount.Mode = modeClosed
	}
	m.plan.Mounts = append(m.plan.Mounts, mount)
}

// nearest returns what has been mounted and contains a path.
func (m *mounter) nearest(name string) string {
	for {
		name = parent(name)
		if _, mounted := m.grades[name]; mounted || name == "/" {
			return name
		}
	}
}

// passage lets a covering directory have the directories that lead to a mount.
func (m *mounter) passage(cover *plan.Mount, one rule) {
	if cover.Mode == modeClosed {
		cover.Mode = modePassage
	}
	inner := below(one.path, cover.Path)
	if !one.directory {
		inner = path.Dir(inner)
	}
	if inner != "." && !slices.Contains(cover.Inner, inner) {
		cover.Inner = append(cover.Inner, inner)
	}
}

// start says where the command starts: where it was asked for, or, if that can't be
// seen inside, at home or at the root. Where nobody can start, because it is not
// there or is no directory, it stays: whoever starts the command says what is wrong.
func (r *resolver) start(p *Plan) {
	for _, dir := range []string{r.request.Dir, lookup(r.request.Env, "HOME")} {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		at, err := locate(r.host, path.Clean(dir))
		there := err == nil && at.directory()
		if !there && dir == r.request.Dir && !r.request.Files {
			p.Dir = dir
			return
		}
		if !there {
			continue
		}
		if g := r.rules.grade(at.real); g == readable || g == writable {
			p.Dir = at.real
			return
		}
	}
	p.Dir = "/"
}
