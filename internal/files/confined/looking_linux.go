package confined

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/airlock-exec/airlock/internal/helper/plan"
	"github.com/airlock-exec/airlock/internal/sandbox"
)

// looking returns what a plan comes to for an operation that only looks at files: it
// can write nowhere. So nothing has to be put on the host either, which would be
// there to keep something from being made, as long as a worker is; and the worker
// can be kept. What is not there hides nothing, and nor does what can be read: it may
// be gone any time.
func looking(p *sandbox.Plan) *sandbox.Plan {
	q := *p
	q.Mounts = slices.Clone(p.Mounts)
	for i := range q.Mounts {
		if q.Mounts[i].Kind == plan.BindWritable {
			q.Mounts[i].Kind = plan.BindReadOnly
		}
	}
	if q.Base == plan.Writable {
		q.Base = plan.ReadOnly
	}
	points := make(map[string]bool, len(p.Points))
	for _, point := range p.Points {
		points[point.Path] = true
	}
	q.Mounts = slices.DeleteFunc(q.Mounts, func(m plan.Mount) bool {
		return points[m.Path] && (m.Mode&readable != 0 || isMissing(m.Path))
	})
	q.Points = nil
	q.Readable = slices.Concat(p.Readable, p.Writable)
	slices.Sort(q.Readable)
	q.Writable = nil
	return &q
}

const readable = 0o444 // by its mode

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
