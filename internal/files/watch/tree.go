package watch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/airlock-exec/airlock/internal/files/glob"
	"github.com/airlock-exec/airlock/protocol"
)

// tree is a directory and, if it is recursive, all directories below it, as they
// are watched. One goroutine uses it at a time.
type tree struct {
	hub       *hub
	in        *inbox
	out       *outbox
	root      string // path of the directory
	only      string // the one name in it that is watched; "" means all
	recursive bool
	filter    *glob.Filter
	most      int // directories

	top   *node
	nodes map[*post]*node
}

// node is a directory that is watched.
type node struct {
	parent   *node // nil for the root
	name     string
	post     *post
	children map[string]*node
}

// below returns the path of something in a directory, below the root and with
// slashes.
func (n *node) below(name string) string {
	for ; n.parent != nil; n = n.parent {
		name = n.name + "/" + name
	}
	return name
}

// path returns the path of a directory.
func (t *tree) path(n *node) string {
	if n.parent == nil {
		return t.root
	}
	return filepath.Join(t.root, filepath.FromSlash(n.parent.below(n.name)))
}

// plant watches the root and, if it is recursive, all that is below. Nothing is
// told of what is there.
func (t *tree) plant(ctx context.Context) error {
	t.nodes = map[*post]*node{}
	t.top = &node{}
	return t.grow(ctx, t.top, func(string) {})
}

// uproot watches nothing any more.
func (t *tree) uproot() {
	if t.top != nil {
		t.drop(t.top)
	}
}

// grow watches a directory and all that is to be watched below it. found is called
// with what is there. The errors are such that the watch can't go on.
func (t *tree) grow(ctx context.Context, n *node, found func(rel string)) error {
	for todo := []*node{n}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		dir, err := t.enter(n)
		if err != nil {
			t.drop(n)
			if fatal := t.judge(n, err); fatal != nil {
				return fatal
			}
			continue
		}
		if t.recursive {
			todo, err = t.list(ctx, n, dir, todo, found)
		}
		dir.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// enter opens a directory and watches it.
func (t *tree) enter(n *node) (*os.File, error) {
	if len(t.nodes) >= t.most {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest,
			"there are more than %d directories to watch; exclude folders, or watch less of the tree", t.most)
	}
	dir, err := openDir(t.path(n), n.parent == nil)
	if err != nil {
		return nil, err
	}
	n.post = &post{in: t.in, only: t.only}
	if err := t.hub.add(dir, n.post); err != nil {
		n.post = nil
		dir.Close()
		return nil, err
	}
	t.nodes[n.post] = n
	return dir, nil
}

// judge returns the error if the watch can't go on with it: one that is not about
// a directory that has vanished meanwhile, or that can't be looked into.
func (t *tree) judge(n *node, err error) error {
	_, ours := errors.AsType[*protocol.Error](err)
	passing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG)
	if n.parent == nil || ours || !passing {
		return err
	}
	return nil
}

// list adds the directories in a directory that are to be watched to those that are
// to be done.
func (t *tree) list(ctx context.Context, n *node, dir *os.File, todo []*node, found func(string)) ([]*node, error) {
	for {
		entries, err := dir.ReadDir(256)
		for _, entry := range entries {
			rel := n.below(entry.Name())
			found(rel)
			if entry.IsDir() && !t.filter.Prune(rel) {
				todo = append(todo, n.child(entry.Name()))
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
				t.out.missed() // of what can't be listed only changes are told
			}
			return todo, nil
		}
	}
}

// child adds a directory.
func (n *node) child(name string) *node {
	c := &node{parent: n, name: name}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = c
	return c
}

// drop ends watching a directory and all that is below it.
func (t *tree) drop(n *node) {
	if n.parent != nil && n.parent.children[n.name] == n {
		delete(n.parent.children, n.name)
	}
	var posts []*post
	for todo := []*node{n}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = slices.AppendSeq(todo[:len(todo)-1], maps.Values(n.children))
		if n.post != nil {
			posts = append(posts, n.post)
			delete(t.nodes, n.post)
		}
	}
	t.hub.remove(posts...)
}
