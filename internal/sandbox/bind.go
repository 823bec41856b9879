package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// bound is an entry of a policy that speaks of this host: of a path, or of those
// that a pattern matches.
type bound struct {
	path, pattern string
	grade         grade
	origin        string
	chosen        bool // it names this path for its own sake
	named         bool // it names it, or the workspace that it is the root of
	root          bool // the entry of the whole file system, by its special name
}

// ground is what the relative parts of a policy refer to.
type ground struct {
	dir   string
	roots []string
}

// projectPattern begins a pattern that is relative to each of the workspace roots.
const projectPattern = "codex-project-roots://"

// minimal is what programs need to run at all.
var minimal = []string{"/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw"}

// ground looks at what the context says, which is judged whether or not an entry
// needs it.
func (r *resolver) ground() (ground, error) {
	c := r.request.Context
	dir, roots := c.CWD, c.WorkspaceRoots
	if c.PolicyContext != nil {
		roots = c.PolicyContext.WorkspaceRoots
		if c.PolicyContext.CWD != nil {
			dir = c.PolicyContext.CWD
		}
	}
	g := ground{dir: r.request.Dir}
	switch {
	case dir != nil:
		native, err := dir.Native()
		if err != nil && r.request.Files {
			return g, protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)
		} else if err != nil {
			return g, r.fault("invalid sandbox policy cwd: %v", err)
		}
		g.dir = native
	case r.request.Files && needsDirectory(c.Permissions.FileSystem):
		return g, protocol.Errorf(protocol.CodeInvalidParams, "file system sandbox context with dynamic permissions requires cwd")
	}
	for _, root := range roots {
		native, err := root.Native()
		if err != nil && r.request.Files {
			return g, protocol.Errorf(protocol.CodeInvalidRequest, "invalid sandbox workspace root: %v", err)
		} else if err != nil {
			return g, r.fault("invalid sandbox workspace root: %v", err)
		}
		g.roots = append(g.roots, native)
	}
	return g, nil
}

// needsDirectory tells whether a policy refers to its directory.
func needsDirectory(f *protocol.FileSystemPolicy) bool {
	for _, e := range f.Entries {
		switch e.Path.Type {
		case protocol.SandboxPathExact:
		case protocol.SandboxPathSpecial:
			if k := e.Path.Value.Kind; k == protocol.SpecialProjectRoots || k == protocol.SpecialCurrentDirectory {
				return true
			}
		case protocol.SandboxPathGlob:
			if !strings.HasPrefix(*e.Path.Pattern, "/") {
				return true
			}
		}
	}
	return false
}

// bind says of each entry what it means here. The first error counts.
func (r *resolver) bind(g ground) ([]bound, error) {
	var all []bound
	for i, e := range r.request.Context.Permissions.FileSystem.Entries {
		b := bound{grade: gradeOf(e.Access)}
		switch e.Path.Type {
		case protocol.SandboxPathExact:
			native, err := e.Path.Path.Native()
			if err != nil && r.request.Files {
				return nil, protocol.Errorf(protocol.CodeInvalidRequest, "invalid sandbox permission path URI: %v", err)
			} else if err != nil {
				return nil, r.fault("invalid sandbox permission path: %v", err)
			}
			b.path, b.chosen, b.named = native, true, true
			all = append(all, b.from(i, "path "+native))
		case protocol.SandboxPathGlob:
			b = b.from(i, "pattern "+*e.Path.Pattern)
			if b.grade != denied {
				r.warn("%s has no effect: a pattern can only deny", b.origin)
				continue
			}
			globs, err := r.bindPattern(*e.Path.Pattern, g, b)
			if err != nil {
				return nil, err
			}
			all = append(all, globs...)
		case protocol.SandboxPathSpecial:
			all = append(all, r.bindSpecial(e.Path.Value, g, b.from(i, string(e.Path.Value.Kind)))...)
		}
		if len(all) > limits.SandboxEntries {
			return nil, r.fault("the policy comes to more than %d entries", limits.SandboxEntries)
		}
	}
	return all, nil
}

func gradeOf(access protocol.SandboxAccess) grade {
	switch access {
	case protocol.AccessRead:
		return readable
	case protocol.AccessWrite:
		return writable
	case protocol.AccessDeny, protocol.AccessNone:
	}
	return denied // also what nobody knows
}

// from says where the entry comes from.
func (b bound) from(index int, what string) bound {
	b.origin = fmt.Sprintf("entry %d (%s %s)", index, b.grade, what)
	return b
}

// bindPattern makes a pattern absolute. If it is relative to the roots and leads out
// of them, all that is in them is denied, as nobody knows what it should have
// hidden.
func (r *resolver) bindPattern(pattern string, g ground, b bound) ([]bound, error) {
	if len(pattern) > limits.SandboxGlobBytes {
		return nil, r.fault("a pattern has %d bytes: at most %d are allowed", len(pattern), limits.SandboxGlobBytes)
	}
	relative, project := strings.CutPrefix(pattern, projectPattern)
	if !project {
		if !strings.HasPrefix(pattern, "/") {
			pattern = g.dir + "/" + pattern
		}
		b.pattern = path.Clean(pattern)
		return []bound{b}, nil
	}
	if len(g.roots) == 0 {
		r.warn("%s has no effect: there are no workspace roots", b.origin)
	}
	var all []bound
	for _, root := range g.roots {
		b := b
		if inside(relative) {
			b.pattern = path.Clean(root + "/" + relative)
		} else {
			r.warn("%s leads out of the workspace roots, all of which is denied", b.origin)
			b.path = root
		}
		all = append(all, b)
	}
	return all, nil
}

// inside tells whether a relative path stays where it begins, by its names.
func inside(relative string) bool {
	if strings.HasPrefix(relative, "/") || relative == "." || strings.HasPrefix(relative, "./") {
		return false
	}
	for component := range strings.SplitSeq(relative, "/") {
		if component == ".." {
			return false
		}
	}
	return true
}

func (r *resolver) bindSpecial(s *protocol.SpecialPath, g ground, b bound) []bound {
	at := func(paths ...string) (all []bound) {
		for _, p := range paths {
			b.path = p
			all = append(all, b)
		}
		return all
	}
	switch s.Kind {
	case protocol.SpecialRoot:
		b.root = true
		return at("/")
	case protocol.SpecialMinimal:
		if b.grade == denied {
			r.warn("%s has no effect: minimal can't be denied", b.origin)
			return nil
		}
		b.grade = readable // nobody is meant to change the system
		return r.there(at(minimal...))
	case protocol.SpecialProjectRoots, protocol.SpecialCurrentDirectory:
		roots, subpath := g.roots, ""
		b.named = true
		if s.Subpath != nil && s.Kind == protocol.SpecialProjectRoots {
			subpath, b.chosen = *s.Subpath, *s.Subpath != ""
		}
		if b.grade == denied && s.Kind == protocol.SpecialCurrentDirectory {
			roots = append(slices.Clip(roots), g.dir)
		}
		if !inside(subpath) {
			r.warn("%s has no effect: %q leads out of the workspace roots", b.origin, subpath)
			return nil
		}
		if len(roots) == 0 {
			r.warn("%s has no effect: there are no workspace roots", b.origin)
		}
		var paths []string
		for _, root := range roots {
			paths = append(paths, path.Join(root, subpath))
		}
		return at(paths...)
	case protocol.SpecialSlashTmp:
		return r.there(at("/tmp"))
	case protocol.SpecialTmpdir:
		return at(r.tmpdirs(b.origin)...)
	case protocol.SpecialUnknown: // of a later version
	}
	return nil
}

// there leaves out what this host does not have.
func (r *resolver) there(all []bound) []bound {
	kept := all[:0]
	for _, b := range all {
		if _, err := r.host.Lstat(b.path); err == nil {
			kept = append(kept, b)
		}
	}
	return kept
}

// tmpdirs returns the directories for temporary files: for an operation on files,
// those that the context names. That there is none is no news: clients name it always.
func (r *resolver) tmpdirs(origin string) []string {
	named := r.request.Context.TemporaryDirectories
	if r.request.Files && named != nil {
		var all []string
		for _, uri := range *named {
			if native, err := uri.Native(); err == nil {
				all = append(all, native)
			} else {
				r.warn("a temporary directory is left out: %v", err)
			}
		}
		return all
	}
	switch dir := lookup(r.request.Env, "TMPDIR"); {
	case dir == "":
		return nil
	case !strings.HasPrefix(dir, "/"):
		r.warn("%s has no effect: TMPDIR is no absolute path", origin)
		return nil
	default:
		return []string{path.Clean(dir)}
	}
}

// lookup returns the value of a variable. As for most programs, the first one
// counts.
func lookup(env []string, name string) string {
	for _, variable := range env {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}
