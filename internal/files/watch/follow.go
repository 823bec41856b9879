package watch

import (
	"context"
	"errors"
	"os"

	"github.com/airlock-exec/airlock/protocol"
)

// errGone says that the root is not where it was, or is no more.
var errGone = errors.New("the directory has been removed, renamed or unmounted")

// follow works one event into the tree and into what is to be told. It reports that
// it is about the root itself, which may not be where it was.
func (t *tree) follow(ctx context.Context, e event) (doubt bool, err error) {
	n := t.nodes[e.post]
	switch {
	case n == nil:
		return false, nil // of a directory that is watched no more
	case e.name != "" && t.only != "":
		t.out.add("", kindOf(e.op))
		return false, nil
	case e.name != "":
		return false, t.entry(ctx, n, e)
	case n.parent == nil && e.op == modified:
		t.out.add("", protocol.ChangeModified)
		return false, nil
	case n.parent == nil && e.op == dead:
		return false, errGone
	case n.parent == nil:
		return true, nil
	case e.op == dead:
		return false, t.revisit(ctx, n)
	}
	return false, nil // the directory above tells the same
}

// entry is about something in a directory.
func (t *tree) entry(ctx context.Context, n *node, e event) error {
	rel := n.below(e.name)
	old := n.children[e.name]
	if old != nil && e.op != modified {
		t.drop(old)
	}
	// Whoever was told of what was in a directory must learn that it is void.
	if t.filter.Match(rel) || old != nil && e.op != modified {
		t.out.add(rel, kindOf(e.op))
	}
	if !e.dir || !t.recursive || n.children[e.name] != nil || e.op == removed || t.filter.Prune(rel) {
		return nil
	}
	// It is new, or one can look into it only now.
	return t.grow(ctx, n.child(e.name), func(rel string) {
		if t.filter.Match(rel) {
			t.out.add(rel, protocol.ChangeCreated)
		}
	})
}

// revisit looks at what is in place of a directory that has been removed or
// unmounted.
func (t *tree) revisit(ctx context.Context, n *node) error {
	e := event{name: n.name, op: removed}
	if info, err := os.Lstat(t.path(n)); err == nil {
		e.op, e.dir = created, info.IsDir()
	}
	return t.entry(ctx, n.parent, e)
}

// kindOf returns what is told of an event.
func kindOf(op op) protocol.ChangeKind {
	switch op {
	case created:
		return protocol.ChangeCreated
	case removed:
		return protocol.ChangeRemoved
	case modified, moved, dead, mounted, lost:
	}
	return protocol.ChangeModified
}
