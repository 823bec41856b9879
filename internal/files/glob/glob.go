// Package glob chooses files by their paths below a directory, with globs that
// take them in and globs that leave them out.
//
// In a glob "*" stands for any text without a slash, "?" for one character,
// "[a-z]" for one of those, or "[!a-z]" for one of all others, "{a,b}" for either
// and, between slashes, "**" for any directories, or none. A backslash takes the
// meaning off what follows. A glob without a slash is matched with the name, any
// other with the whole path. One that ends with a slash means directories.
package glob

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Filter chooses files. It is safe for concurrent use.
type Filter struct {
	include, exclude []pattern
}

// pattern is a glob without braces.
type pattern struct {
	file     string   // what files are matched with
	dir      string   // what directories are matched with
	segments []string // of dir; nil if only the name is matched
	dirOnly  bool
}

// Match tells whether a file is chosen: it matches an include, or there are none,
// and neither the file nor a directory above it matches an exclude. The path is
// below the root, with slashes.
func (f *Filter) Match(rel string) bool {
	return f.Chosen(rel, false) && !f.excludes(path.Dir(rel))
}

// Prune tells whether a directory need not be looked into: nothing below it can
// be chosen. The path is below the root, with slashes; "." is the root itself and
// never pruned.
func (f *Filter) Prune(rel string) bool {
	return rel != "." && (!f.Chosen(rel, true) || f.excludes(path.Dir(rel)))
}

// Chosen tells whether a file is chosen, or a directory not pruned, to whoever has
// come to it by directories none of which is: they are not judged again.
func (f *Filter) Chosen(rel string, dir bool) bool {
	if len(f.include) > 0 {
		chosen := func(p pattern) bool { return p.matchFile(rel) }
		if dir {
			segments := strings.Split(rel, "/")
			chosen = func(p pattern) bool { return p.reaches(segments) }
		}
		if !slices.ContainsFunc(f.include, chosen) {
			return false
		}
	}
	return !slices.ContainsFunc(f.exclude, func(p pattern) bool {
		return dir && p.matchDir(rel) || !dir && p.matchFile(rel)
	})
}

// excludes tells whether a directory, or one above it, matches an exclude.
func (f *Filter) excludes(dir string) bool {
	if len(f.exclude) == 0 {
		return false
	}
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if slices.ContainsFunc(f.exclude, func(p pattern) bool { return p.matchDir(dir) }) {
			return true
		}
	}
	return false
}

func (p *pattern) matchFile(rel string) bool { return !p.dirOnly && p.match(p.file, rel) }

func (p *pattern) matchDir(rel string) bool { return p.match(p.dir, rel) }

func (p *pattern) match(glob, rel string) bool {
	if p.segments == nil {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(glob, rel)
}

// reaches tells whether something below a directory can match.
func (p *pattern) reaches(dir []string) bool {
	if p.segments == nil {
		return true
	}
	for i, glob := range p.segments {
		switch {
		case i == len(dir) || glob == "**":
			return true
		case !doublestar.MatchUnvalidated(glob, dir[i]):
			return false
		}
	}
	return false
}
