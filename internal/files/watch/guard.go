package watch

import (
	"os"
	"path/filepath"
	"strings"
)

// step is a component of a path: a name in a directory.
type step struct{ dir, name string }

// steps returns the components of an absolute path, from the root of the file
// system on.
func steps(path string) []step {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	var list []step
	dir := root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, root), string(filepath.Separator)) {
		if name != "" {
			list = append(list, step{dir, name})
			dir = filepath.Join(dir, name)
		}
	}
	return list
}

// guard notices when a path leads somewhere else than it did.
type guard struct {
	hub    *hub
	path   string
	info   os.FileInfo
	posts  []*post
	mounts string
}

// newGuard watches the directories above a path, as far as they may be looked into.
// Their events go to the inbox. release must be called.
func newGuard(h *hub, in *inbox, path string, info os.FileInfo) *guard {
	g := &guard{hub: h, path: path, info: info, mounts: mountsBelow(path)}
	if !chains {
		return g
	}
	for _, s := range steps(path) {
		dir, err := openDir(s.dir, true)
		if err != nil {
			continue
		}
		p := &post{in: in, only: s.name, what: entries}
		if h.add(dir, p) == nil {
			g.posts = append(g.posts, p)
		}
		dir.Close()
	}
	return g
}

func (g *guard) release() { g.hub.remove(g.posts...) }

// holds tells whether the path leads where it did.
func (g *guard) holds() bool {
	info, err := os.Stat(g.path)
	return err == nil && os.SameFile(info, g.info)
}

// mountsChanged tells whether other file systems are mounted below than before.
func (g *guard) mountsChanged() bool {
	before := g.mounts
	g.mounts = mountsBelow(g.path)
	return g.mounts != before
}
