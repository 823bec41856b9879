package sandbox

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
)

// protected are the names that nobody may write below a directory that may be
// written, as what is there is executed or trusted outside the sandbox. An entry of
// its own allows it.
var protected = []string{".git", ".agents", ".codex", ".aws"}

func isProtected(name string) bool { return slices.Contains(protected, path.Base(name)) }

// protect adds the rules about protected names.
func (r *resolver) protect() error {
	for _, root := range r.rules.sorted() {
		if root.grade != writable || !root.directory || isProtected(root.path) {
			continue // what is allowed in there is the client's word
		}
		for _, name := range protected {
			if err := r.protectName(root, join(root.path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *resolver) protectName(root rule, name string) error {
	if r.granted[name] {
		return nil
	}
	origin := "the protection of " + path.Base(name) + " below every directory that may be written (" + root.path + ")"
	info, err := r.host.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.rules.add(rule{path: name, grade: readable, origin: origin, missing: true, directory: true})
		return nil
	case err != nil:
		return r.fault("%s can't be looked at: %v", name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		if r.rules.grade(name) != writable {
			return nil // an entry has it already
		}
		return r.crossing(readable, name, name)
	}
	empty, err := r.empty(name, info)
	if err != nil {
		return r.fault("%s can't be looked at: %v", name, err)
	}
	r.rules.add(rule{path: name, grade: readable, origin: origin, directory: info.IsDir(), missing: empty})
	if path.Base(name) == ".git" && info.Mode().IsRegular() && !empty {
		return r.protectGitDir(root, name)
	}
	return nil
}

// empty tells whether there may be nothing but a place to mount on.
func (r *resolver) empty(name string, info fs.FileInfo) (bool, error) {
	if !info.IsDir() {
		return info.Mode().IsRegular() && info.Size() == 0, nil
	}
	err := r.host.ReadDir(name, func(fs.DirEntry) error { return errNotEmpty })
	switch {
	case errors.Is(err, errNotEmpty), errors.Is(err, fs.ErrPermission):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil // a place to mount on, which nobody needs any more
	}
	return err == nil, err
}

var errNotEmpty = errors.New("there is something in the directory")

// protectGitDir protects the repository that a file .git names. If the client has
// allowed writing it, or a directory that it is in, that counts.
func (r *resolver) protectGitDir(root rule, file string) error {
	text, err := r.host.ReadFile(file, limits.SandboxGitfileBytes)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return r.fault("%s can't be read: %v", file, err)
	}
	named, found := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	named = strings.TrimSpace(named)
	if !found || named == "" || strings.ContainsAny(named, "\x00\n") {
		return nil
	}
	if !strings.HasPrefix(named, "/") {
		named = join(root.path, named)
	}
	named = path.Clean(named)
	at, err := locate(r.host, named)
	if err != nil {
		return r.fault("the repository of %s can't be looked for: %v", file, err)
	}
	if crossed, steered := r.writableLink(at); steered {
		return r.crossing(readable, named, crossed)
	}
	if r.rules.grade(at.real) != writable || r.chosenFor(at.real, root.path) {
		return nil
	}
	origin := "the protection of the repository of " + file
	if at.missing() {
		r.addUnmade(at, readable, origin)
	} else {
		r.rules.add(rule{path: at.real, grade: readable, origin: origin, directory: at.info.IsDir()})
	}
	return nil
}

// chosenFor tells whether the client has named a path, or what it is in, for being
// written: other than the directory for whose sake it would be protected.
func (r *resolver) chosenFor(name, root string) bool {
	for ; ; name = parent(name) {
		if found, ok := r.rules.byPath[name]; ok && found.chosen && name != root {
			return true
		}
		if name == "/" {
			return false
		}
	}
}
