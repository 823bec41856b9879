package sandbox

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/airlock-exec/airlock/internal/helper/plan"
)

// world is what a command sees once the mounts of a plan have been made one by one.
type world struct {
	host *memory
	plan *Plan
	made []plan.Mount
	// faults are mounts that could not have been made.
	faults []string
}

func enter(host *memory, p *Plan) *world {
	w := &world{host: host, plan: p}
	for _, m := range p.Mounts {
		w.mount(m)
		w.made = append(w.made, m)
	}
	return w
}

// top returns the mount that is seen at a path: a later one hides what was there.
func (w *world) top(path string) *plan.Mount {
	for i := len(w.made) - 1; i >= 0; i-- {
		if within(path, w.made[i].Path) {
			return &w.made[i]
		}
	}
	return nil
}

func (w *world) mount(m plan.Mount) {
	fault := func(format string, args ...any) {
		w.faults = append(w.faults, fmt.Sprintf("%+v: %s", m, fmt.Sprintf(format, args...)))
	}
	node := w.host.nodes[m.Path]
	for dir := parent(m.Path); dir != "/"; dir = parent(dir) {
		if at := w.host.nodes[dir]; at == nil || !at.Mode.IsDir() {
			fault("%s is no directory of the host", dir)
		}
	}
	point := slices.ContainsFunc(w.plan.Points, func(p Point) bool { return p.Path == m.Path })
	directory := node != nil && node.Mode.IsDir()
	switch {
	case m.Kind == plan.Link:
		if w.plan.Base != plan.Nothing || w.top(m.Path) != nil {
			fault("there is something")
		}
		return
	case node == nil && (!point || m.Kind == plan.BindReadOnly || m.Kind == plan.BindWritable):
		fault("it is not there")
	case node != nil && (node.Mode&fs.ModeSymlink != 0) != (m.Kind == plan.CoverLink):
		fault("it is a link")
	case node != nil && directory != (m.Kind == plan.CoverDirectory) && (m.Kind == plan.CoverDirectory || m.Kind == plan.CoverFile):
		fault("it covers what is of another kind")
	}
	switch on := w.top(m.Path); {
	case on == nil:
	case on.Kind == plan.CoverFile:
		fault("a file covers it")
	case on.Kind == plan.CoverDirectory:
		inner := below(m.Path, on.Path)
		if !directory {
			inner = below(parent(m.Path), on.Path)
		}
		if inner != "" && !slices.Contains(on.Inner, inner) || on.Mode&0o111 == 0 {
			fault("the covering directory does not lead to it")
		}
	}
}

// grade says what can be done with a path: a file is written, or something is made in a
// directory.
func (w *world) grade(path string) grade {
	top := w.top(path)
	switch {
	case top == nil && w.plan.Base == plan.Writable:
		return writable
	case top == nil && w.plan.Base == plan.ReadOnly:
		return readable
	case top == nil:
		return 0
	case top.Kind == plan.BindWritable:
		return writable
	case top.Kind == plan.BindReadOnly:
		return readable
	case top.Mode&0o444 != 0:
		return readable // an empty one, where there was nothing
	}
	return denied
}
