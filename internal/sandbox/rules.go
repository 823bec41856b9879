package sandbox

import (
	"cmp"
	"slices"
	"strings"
)

// grade is what a rule allows.
type grade int

// Grades, from the most to the least; the later one wins where both are for the
// same path.
const (
	readable grade = iota + 1
	writable
	denied
)

func (g grade) String() string {
	switch g {
	case readable:
		return "read"
	case writable:
		return "write"
	case denied:
		return "deny"
	}
	return "none"
}

// rule is about a path and all below it.
type rule struct {
	path  string // free of links, or, if it is not there, with what is not there at its end
	grade grade
	// origin says where the rule comes from, for whoever asks.
	origin string
	// directory tells what is there. Of what is missing, it tells what has to be made
	// to mount on.
	directory bool
	// missing tells that there is nothing, so that something has to be made; or that
	// there is something empty, which another sandbox may have made for that.
	missing bool
	// link tells that it is about a symbolic link, and not about where that leads.
	link bool
	// chosen tells that the client has named this very path for being written.
	chosen bool
	// pinned tells that it says nothing new, and is there to be mounted.
	pinned bool
	// sockets tells that the sockets below may be connected to.
	sockets bool
}

// rules are what a policy comes to, one for each path.
type rules struct{ byPath map[string]rule }

// add adds a rule. Of several for a path, deny wins over write, and write over read.
func (r *rules) add(added rule) {
	if r.byPath == nil {
		r.byPath = make(map[string]rule)
	}
	old, found := r.byPath[added.path]
	switch {
	case found && old.grade > added.grade:
		return
	case found && old.grade == added.grade:
		old.directory = old.directory || added.directory
		old.chosen = old.chosen || added.chosen
		old.sockets = old.sockets || added.sockets
		added = old
	}
	r.byPath[added.path] = added
}

// deciding returns the rule about a path: the one with the longest path that
// contains it.
func (r *rules) deciding(path string) (rule, bool) {
	for {
		if found, ok := r.byPath[path]; ok {
			return found, true
		}
		if path == "/" {
			return rule{}, false
		}
		path = parent(path)
	}
}

// above returns the rule that decides about a path if there is none for itself.
func (r *rules) above(path string) (rule, bool) {
	if path == "/" {
		return rule{}, false
	}
	return r.deciding(parent(path))
}

// grade returns what may be done with a path: 0 if nothing.
func (r *rules) grade(path string) grade {
	found, _ := r.deciding(path)
	return found.grade
}

// sorted returns the rules so that what contains others comes before them.
func (r *rules) sorted() []rule {
	all := make([]rule, 0, len(r.byPath))
	for _, one := range r.byPath {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b rule) int { return comparePaths(a.path, b.path) })
	return all
}

// comparePaths orders paths by their components: a slash comes before whatever else
// there can be in a path.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// parent returns the directory that a clean absolute path is in.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// within tells whether a path is another one, or below it.
func within(path, directory string) bool {
	rest, found := strings.CutPrefix(path, directory)
	return found && (rest == "" || rest[0] == '/' || directory == "/")
}

// below returns the path relative to a directory that it is in.
func below(path, directory string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, directory), "/")
}

func join(directory, name string) string {
	return strings.TrimSuffix(directory, "/") + "/" + name
}
