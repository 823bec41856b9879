package search

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
)

// listing is what there is in a directory. It is loaded by whoever comes first;
// only then may the rest be used.
type listing struct {
	once sync.Once
	rel  string // below the root, which is ""

	entries  []entry
	hasRules [len(ruleFiles)]bool
	problem  string // why it has not been read, if it has not
}

// entry is a file or a directory.
type entry struct {
	name   string
	isDir  bool
	wanted bool     // whether it is to be looked at, once that has been judged
	dir    *listing // of a directory that is
}

// load reads the directory.
func (l *listing) load(ctx context.Context, s *search) {
	l.once.Do(func() {
		read, err := readDir(ctx, s.native(l.rel), l.rel == "", limits.SearchEntries)
		if err != nil {
			l.problem = problem(err)
		}
		for _, e := range read {
			l.add(s, e)
		}
		slices.SortFunc(l.entries, entry.compare)
	})
}

// add takes an entry, unless it can be seen at once that it is left out.
func (l *listing) add(s *search, e fs.DirEntry) {
	dir := e.IsDir()
	if !dir && !e.Type().IsRegular() {
		return
	}
	if i := slices.Index(ruleFiles[:], e.Name()); i >= 0 && !dir {
		l.hasRules[i] = true
	}
	if !s.hidden && strings.HasPrefix(e.Name(), ".") || s.from.passed(join(l.rel, e.Name()), dir) {
		return
	}
	l.entries = append(l.entries, entry{name: e.Name(), isDir: dir})
}

// path returns the path of an entry below the root.
func (l *listing) path(e entry) string { return join(l.rel, e.name) }

// begin returns where the directory is in the order of everything: before all
// that is below it.
func (l *listing) begin() string {
	if l.rel == "" {
		return ""
	}
	return l.rel + "/"
}

// key returns where an entry is in the order of everything.
func (l *listing) key(e entry) string {
	if e.isDir {
		return l.path(e) + "/"
	}
	return l.path(e)
}

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// passed tells whether an entry, with all that is below it, is before a
// position.
func (p position) passed(rel string, dir bool) bool {
	if !dir {
		return rel < p.path
	}
	rel += "/"
	return rel < p.path && !strings.HasPrefix(p.path, rel)
}

// compare orders entries as their keys.
func (e entry) compare(other entry) int {
	n := min(len(e.name), len(other.name))
	if c := cmp.Compare(e.name[:n], other.name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(e.behind(n), other.behind(n))
}

// behind returns the byte of the key at a place, or -1 at its end.
func (e entry) behind(n int) int {
	switch {
	case n < len(e.name):
		return int(e.name[n])
	case e.isDir:
		return '/'
	}
	return -1
}

// batch is how many entries are read between two looks at the context.
const batch = 1024

// readDir reads a directory as far as that is possible, but none of one that has
// more entries than can be held to sort them.
func readDir(ctx context.Context, path string, follow bool, most int) ([]fs.DirEntry, error) {
	f, err := openDir(path, follow)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(batch)
		all = append(all, some...)
		switch {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return all, err
		case ctx.Err() != nil:
			return all, context.Cause(ctx)
		case len(all) > most:
			return nil, fmt.Errorf("has more than %d entries, and has not been searched", most)
		}
	}
}
