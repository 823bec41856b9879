package search

import (
	"context"
	"io/fs"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// walk goes through a tree in order.
type walk struct {
	*search
	// jobs has what the walk comes upon, in order; files has those of them that
	// are files, and lists has directories that it will soon come to.
	jobs  chan *job
	files chan *job
	lists chan *listing
	begun bool // whether it has got over anything, as each page must
}

// job is a step of the walk: a file to be searched, or what else there is to say.
type job struct {
	at      position
	stop    bool   // the walk has been left here, as the time is up
	problem string // what could not be looked at

	once   sync.Once
	result found
}

func newWalk(s *search) *walk {
	return &walk{
		search: s,
		jobs:   make(chan *job, limits.SearchAhead),
		files:  make(chan *job, limits.SearchAhead),
		lists:  make(chan *listing, limits.SearchAhead),
	}
}

// run goes through the tree, and ends the channels.
func (w *walk) run(ctx context.Context, root fs.FileInfo) {
	defer close(w.jobs)
	defer close(w.files)
	if !root.IsDir() {
		if w.from.path == "" && w.filter.Match(root.Name()) {
			w.file(ctx, "")
		}
		return
	}
	var l listing
	if w.ignoreFiles {
		l.rules = rootScope(w.root)
	}
	w.dir(ctx, &l)
}

// dir goes through a directory. It reports false when the walk is over.
func (w *walk) dir(ctx context.Context, l *listing) bool {
	l.load(ctx, w.search)
	for _, p := range l.problems {
		if w.from.path > l.begin() {
			break // an earlier page has told
		}
		if !w.send(ctx, &job{at: position{path: p.path}, problem: p.text}) {
			return false
		}
	}
	ahead := 0
	for i, e := range l.entries {
		if ctx.Err() != nil {
			return false
		}
		if w.begun && w.over() {
			w.send(ctx, &job{at: position{path: l.key(e)}, stop: true})
			return false
		}
		for ahead = max(ahead, i+1); ahead < len(l.entries) && ahead <= i+limits.SearchDirsAhead; ahead++ {
			w.list(l.entries[ahead].dir)
		}
		if e.dir == nil && !w.file(ctx, l.path(e)) || e.dir != nil && !w.dir(ctx, e.dir) {
			return false
		}
		l.entries[i].dir = nil // what has been walked through need not be kept
		w.begun = true
	}
	return true
}

// list has a directory listed by whoever has nothing else to do.
func (w *walk) list(l *listing) {
	if l == nil {
		return
	}
	select {
	case w.lists <- l:
	default:
	}
}

// file has a file searched.
func (w *walk) file(ctx context.Context, rel string) bool {
	j := &job{at: w.from.start(rel)}
	if !w.send(ctx, j) {
		return false
	}
	select {
	case w.files <- j:
	default: // whoever takes the job does it
	}
	return true
}

func (w *walk) send(ctx context.Context, j *job) bool {
	select {
	case w.jobs <- j:
		return true
	case <-ctx.Done():
		return false
	}
}

// work does what will be needed, until the walk is over.
func (w *walk) work(ctx context.Context) {
	for {
		select {
		case l := <-w.lists:
			if ctx.Err() == nil {
				l.load(ctx, w.search)
			}
		case j, more := <-w.files:
			if !more {
				return
			}
			if ctx.Err() == nil && !w.over() && w.held.Load() < limits.SearchHeldBytes {
				j.do(ctx, w.search)
			}
		}
	}
}

// take returns what is in a file, which it searches unless that has been done.
func (j *job) take(ctx context.Context, s *search) found {
	j.do(ctx, s)
	s.held.Add(-j.result.size())
	return j.result
}

func (j *job) do(ctx context.Context, s *search) {
	j.once.Do(func() {
		j.result = s.scan(ctx, j.at)
		s.held.Add(j.result.size())
	})
}
