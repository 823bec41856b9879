package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// search is for the files that patterns match below a directory.
type search struct {
	base     string
	patterns []*matcher
	origins  []string
	depth    int // 0 means no bound but ours

	matches int
	looked  int
}

// expand turns patterns into rules for the files that they match now: files only, also
// hidden ones; not what is behind links to directories. A link to a file stands for
// that file. What can't be listed has nothing that the command could read.
func (r *resolver) expand(all []bound) error {
	searches := make(map[string]*search)
	count := 0
	for _, b := range all {
		if b.pattern == "" {
			continue
		}
		if count++; count > limits.SandboxGlobs {
			return r.fault("there are more than %d patterns", limits.SandboxGlobs)
		}
		base := globBase(b.pattern)
		if base == "" {
			return r.fault("unreadable glob `%s` cannot be safely expanded; use a pattern with a non-root directory prefix", b.pattern)
		}
		if err := r.host.late(); err != nil {
			return r.fault("%v", err)
		}
		matcher, err := newMatcher(b.pattern)
		if err != nil {
			return r.fault("unreadable glob `%s` cannot be understood: %v", b.pattern, err)
		}
		s := searches[base]
		if s == nil {
			s = &search{base: base, depth: limits.SandboxGlobDepth + 1}
			if most := r.request.Context.Permissions.FileSystem.GlobScanMaxDepth; most != nil {
				s.depth = int(min(uint64(*most), uint64(s.depth)))
			}
			searches[base] = s
		}
		s.patterns = append(s.patterns, matcher)
		s.origins = append(s.origins, b.origin)
	}
	for _, base := range slices.Sorted(maps.Keys(searches)) {
		if err := r.search(searches[base]); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) search(s *search) error {
	at, err := locate(r.host, s.base)
	if err != nil {
		return r.fault("the directory of a pattern can't be looked for: %v", err)
	}
	if !at.directory() {
		return nil
	}
	if crossed, found := r.writableLink(at); found {
		return r.fault("cannot enforce sandbox deny-read path %s because it crosses writable symlink %s", s.base, crossed)
	}
	return r.walk(s, at.real, "", 1)
}

// walk looks at the entries of a directory. Where it is told relative to the base, a
// link on the way to that does not matter for what matches.
func (r *resolver) walk(s *search, directory, relative string, depth int) error {
	var inner []string
	var fault error
	err := r.host.ReadDir(directory, func(e fs.DirEntry) error {
		if s.looked++; s.looked > limits.SandboxGlobEntries {
			fault = r.fault("unreadable glob expansion for %s looks at more than %d paths", s.base, limits.SandboxGlobEntries)
		} else if e.IsDir() {
			inner = append(inner, e.Name())
		} else {
			fault = r.match(s, directory, strings.TrimPrefix(relative+"/"+e.Name(), "/"), e)
		}
		return fault
	})
	switch {
	case fault != nil:
		return fault
	case errors.Is(err, fs.ErrPermission):
		return r.unlisted(s, directory)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return r.fault("a pattern can't be looked for: %v", err)
	case len(inner) > 0 && depth >= limits.SandboxGlobDepth && s.depth > limits.SandboxGlobDepth:
		return r.fault("unreadable glob expansion for %s goes deeper than %d directories", s.base, limits.SandboxGlobDepth)
	case depth >= s.depth:
		return nil
	}
	for _, name := range inner {
		if err := r.walk(s, join(directory, name), strings.TrimPrefix(relative+"/"+name, "/"), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// match denies a file, told relative to the base, if a pattern matches it.
func (r *resolver) match(s *search, directory, relative string, e fs.DirEntry) error {
	i := slices.IndexFunc(s.patterns, func(p *matcher) bool { return p.matches(join(s.base, relative), e.Name()) })
	if i < 0 {
		return nil
	}
	path := join(directory, e.Name())
	if e.Type()&fs.ModeSymlink != 0 {
		at, err := locate(r.host, path)
		switch {
		case errors.Is(err, errLinks), err == nil && (at.missing() || at.directory()):
			return nil // leads to no file
		case err != nil:
			return r.fault("what a pattern matches can't be looked for: %v", err)
		}
		if err := r.hold(s, i, path, at); err != nil {
			return err
		}
		path = at.real
	}
	if s.matches++; s.matches > limits.SandboxGlobMatches {
		return r.fault("unreadable glob expansion for %s matched more than %d paths", s.base, limits.SandboxGlobMatches)
	}
	r.rules.add(rule{path: path, grade: denied, origin: s.origins[i]})
	return nil
}

// hold sees to it that a link that a pattern matches stays as it is: without it nothing
// would match the next time. It can be covered; others on the way to the file can't, as
// something else may need them.
func (r *resolver) hold(s *search, pattern int, link string, at *place) error {
	for _, crossed := range at.crossed {
		switch {
		case r.rules.grade(crossed.path) != writable:
		case crossed.path != link:
			return r.crossing(denied, link, crossed.path)
		default:
			r.rules.add(rule{path: link, grade: denied, origin: s.origins[pattern], link: true})
		}
	}
	return nil
}

// unlisted is about a directory that this program can't look into. What is in there may
// have a name that the command knows, or the command may open the directory, so that
// all of it is denied, if any of it could be read.
func (r *resolver) unlisted(s *search, directory string) error {
	info, err := r.host.Lstat(directory)
	if err != nil {
		return r.fault("a pattern can't be looked for: %v", err)
	}
	const passage = 0o111 // which opens what has a known name
	if g := r.rules.grade(directory); g == writable || g == readable && info.Mode()&passage != 0 {
		r.rules.add(rule{path: directory, grade: denied, directory: true, origin: s.origins[0]})
	}
	return nil
}
