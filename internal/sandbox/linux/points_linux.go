package linux

import (
	"strings"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/internal/spawn/point"
	"github.com/airlock-exec/airlock/protocol"
)

// makePoints makes the mount points of a plan, and returns the mounts as they can
// be made with what is there then.
func (b *Backend) makePoints(p *sandbox.Plan) (mounts []plan.Mount, undo func(), err error) {
	points := make([]point.Point, len(p.Points))
	for i, at := range p.Points {
		points[i] = point.Point(at)
	}
	states, undo, err := b.points().Hold(points)
	if err != nil {
		return nil, nil, protocol.WithKind(protocol.CodeInvalidParams, protocol.KindSandboxPreparation,
			"failed to prepare process sandbox: "+err.Error())
	}
	is := make(map[string]point.State, len(states))
	for i, state := range states {
		is[points[i].Path] = state
	}
	for _, m := range p.Mounts {
		if state, ok := is[m.Path]; ok {
			m = fitted(m, state)
		}
		if !isAbsent(m.Path, is) {
			mounts = append(mounts, m)
		}
	}
	return mounts, undo, nil
}

// fitted returns a mount that covers a file if there is one, and a directory if
// there is one: whoever has put it there, it can't be seen.
func fitted(m plan.Mount, state point.State) plan.Mount {
	const execution = 0o111 // is what a file has no use for, and a directory can't do without
	switch {
	case m.Kind == plan.CoverDirectory && state == point.File && len(m.Inner) == 0:
		m.Kind, m.Mode = plan.CoverFile, m.Mode&^execution
	case m.Kind == plan.CoverFile && state == point.Directory:
		m.Kind, m.Mode = plan.CoverDirectory, m.Mode|m.Mode>>2&execution
	}
	return m
}

// isAbsent tells whether there is nothing to be mounted on, nor ever will be.
func isAbsent(path string, is map[string]point.State) bool {
	for at := path; ; {
		if state, ok := is[at]; ok && state == point.Absent {
			return true
		}
		i := strings.LastIndexByte(at, '/')
		if i <= 0 {
			return false
		}
		at = at[:i]
	}
}
