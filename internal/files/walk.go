package files

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// AppendWalk lists a directory with all that is below it and appends a
// [protocol.WalkResult].
func (*Files) AppendWalk(ctx context.Context, dst []byte, p *protocol.WalkParams) ([]byte, error) {
	if err := checkWalk(&p.Options); err != nil {
		return dst, err
	}
	path, err := path(p.Path, p.Sandbox, sandbox.Read)
	if err != nil {
		return dst, err
	}
	w := &walk{options: p.Options, result: beginWalk(dst)}
	root, err := w.root(path, p.Path.String())
	if err != nil {
		return dst, err
	}
	if root != nil {
		w.add(root)
	}
	if err := w.run(ctx); err != nil {
		return dst, err
	}
	return w.result.end(), nil
}

func checkWalk(o *protocol.WalkOptions) error {
	switch {
	case o.MaxDirectories == 0 || o.MaxEntries == 0:
		return protocol.Errorf(protocol.CodeInvalidRequest, "filesystem walk limits must be greater than zero")
	case o.MaxDepth > limits.WalkDepth || o.MaxDirectories > limits.WalkDirectories || o.MaxEntries > limits.WalkEntries:
		return protocol.Errorf(protocol.CodeInvalidRequest,
			"filesystem walk limits exceed maximums: depth=%d, directories=%d, entries=%d",
			limits.WalkDepth, limits.WalkDirectories, limits.WalkEntries)
	}
	return nil
}

// walk goes through directories, those that are nearer first. What it finds does
// not depend on how many of them are listed at the same time.
type walk struct {
	options protocol.WalkOptions
	result  walkResult
	looked  uint64 // entries so far
	// queue are the directories of the walk; those before next are done, and those
	// before begun are being listed, or have been.
	queue       []*walkDir
	next, begun int
	listing     sync.WaitGroup
	visited     map[string]bool // by real path; nil unless links are followed
}

// walkDir is a directory of a walk.
type walkDir struct {
	uri   string
	path  string
	real  string // without symbolic links; not set unless links are followed
	depth uint64
	// entries are what is in the directory, unless err says why that is not known.
	// They are set when listed is closed.
	entries []entry
	err     error
	listed  chan struct{}
}

// root returns the directory that a walk begins with. It is nil if there is none,
// but something else.
func (w *walk) root(path, uri string) (*walkDir, error) {
	st, err := (*dir)(nil).status(path, true)
	switch {
	case err != nil:
		return nil, err
	case !st.mode.IsDir():
		return nil, nil
	}
	d := &walkDir{uri: uri, path: path}
	if w.options.FollowDirectorySymlinks {
		if d.real, err = realPath(path); err != nil {
			return nil, err
		}
		w.visited = map[string]bool{d.real: true}
		return d, nil
	}
	switch st, err := (*dir)(nil).status(path, false); {
	case err != nil:
		return nil, err
	case st.isLink():
		return nil, nil
	}
	return d, nil
}

// run walks through what is queued, and what is found there.
func (w *walk) run(ctx context.Context) error {
	defer w.listing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing of what is not looked at any more
	for ; w.next < len(w.queue) && !w.result.full; w.next++ {
		w.begin(ctx)
		d := w.queue[w.next]
		w.queue[w.next] = nil
		<-d.listed
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case d.err != nil:
			w.result.addError(d.uri, fault.Text(d.err))
		default:
			w.directory(d)
		}
	}
	return nil
}

func (w *walk) add(d *walkDir) {
	d.listed = make(chan struct{})
	w.queue = append(w.queue, d)
}

// begin has directories listed: the next one, and as many that come after it as
// there are processors.
func (w *walk) begin(ctx context.Context) {
	for w.begun < len(w.queue) && w.begun <= w.next+runtime.GOMAXPROCS(0) {
		d := w.queue[w.begun]
		w.begun++
		w.listing.Go(func() {
			defer close(d.listed)
			d.entries, d.err = list(ctx, d.path, w.options.FollowDirectorySymlinks, int(w.options.MaxEntries)+1)
		})
	}
}

// directory looks at what is in a directory.
func (w *walk) directory(d *walkDir) {
	namer := newNamer(d)
	for i := range d.entries {
		e := &d.entries[i]
		if w.looked == w.options.MaxEntries {
			w.result.truncated, w.result.full = true, true
			return
		}
		w.looked++
		isDir := e.kind.IsDir()
		switch {
		case !isDir && (e.link || !e.kind.IsRegular()):
		case e.link && !w.options.FollowDirectorySymlinks:
		case !w.result.addEntry(namer, e.name, isDir):
			return
		case isDir && d.depth < w.options.MaxDepth && !w.isPruned(e.name):
			if w.descend(d, e, namer); w.result.full {
				return
			}
		}
	}
}

func (w *walk) isPruned(name string) bool {
	return w.options.PruneHiddenDirectories && strings.HasPrefix(name, ".")
}

// descend has a directory looked into later, unless that has been done.
func (w *walk) descend(in *walkDir, e *entry, namer *namer) {
	d := &walkDir{
		uri:   string(namer.append(nil, e.name)),
		path:  filepath.Join(in.path, e.name),
		depth: in.depth + 1,
	}
	if w.visited != nil {
		d.real = filepath.Join(in.real, e.name)
		if e.link {
			var err error
			if d.real, err = realPath(d.path); err != nil {
				w.result.addError(d.uri, fault.Text(err))
				return
			}
		}
		if w.visited[d.real] {
			return
		}
		w.visited[d.real] = true
	}
	if uint64(len(w.queue)) == w.options.MaxDirectories {
		w.result.truncated = true
		return
	}
	w.add(d)
}
