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
	var rules scope
	if w.ignoreFiles {
		rules = rootScope(w.root)
	}
	w.dir(ctx, &listing{}, rules)
}

// dir goes through a directory, with what ignore files say above it. It reports
// false when the walk is over.
func (w *walk) dir(ctx context.Context, l *listing, above scope) bool {
	l.load(ctx, w.search)
	rules, wrong := above.below(w.search, l)
	for _, p := range append([]note{{l.rel, l.problem}}, wrong...) {
		if p.text == "" || w.from.path > l.begin() { // an earlier page has told
			continue
		}
		if !w.send(ctx, &job{at: position{path: p.path}, problem: p.text}) {
			return false
		}
	}
	judged, ahead := 0, 0 // ahead are those that are wanted and have not been come to
	for i := range l.entries {
		e := &l.entries[i]
		if ctx.Err() != nil {
			return false
		}
		if w.begun && w.over() {
			w.send(ctx, &job{at: position{path: l.key(*e)}, stop: true})
			return false
		}
		for judged <= i || judged < len(l.entries) && ahead <= limits.SearchDirsAhead && !w.over() {
			if w.judge(rules, l, &l.entries[judged]) {
				ahead++
			}
			judged++
		}
		if e.wanted {
			ahead--
		}
		if !w.entry(ctx, l, e, rules) {
			return false
		}
		e.dir = nil // what has been walked through need not be kept
		w.begun = true
	}
	return true
}

// judge finds out whether an entry is wanted. That may take time, and is therefore
// done as the walk gets on. A directory is listed by whoever has nothing else to do.
func (w *walk) judge(rules scope, l *listing, e *entry) bool {
	rel := l.path(*e)
	e.wanted = w.filter.Chosen(rel, e.isDir) && !rules.ignored(rel, e.isDir)
	if !e.wanted || !e.isDir {
		return e.wanted
	}
	e.dir = &listing{rel: rel}
	select {
	case w.lists <- e.dir:
	default:
	}
	return true
}

// entry goes through an entry that has been judged.
func (w *walk) entry(ctx context.Context, l *listing, e *entry, rules scope) bool {
	switch {
	case !e.wanted:
		return true
	case e.isDir:
		return w.dir(ctx, e.dir, rules)
	}
	return w.file(ctx, l.path(*e))
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
