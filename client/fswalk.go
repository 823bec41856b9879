package client

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// WalkOptions say what a walk lists.
type WalkOptions struct {
	// MaxDepth is how far below the directory is looked: with 1 only into itself.
	// 0 means that nothing bounds it.
	MaxDepth int
	// SkipHidden does not look into directories whose name begins with a dot.
	SkipHidden bool
}

// Walk lists the files and directories below a directory, each directory before
// what is in it. Symbolic links are not listed, but if the directory itself is one
// it is followed. A file has nothing below it.
//
// The executor is asked for up to 50,000 entries at a time; a larger tree is asked
// for in parts. An error about one path that can't be looked at is an element of
// its own, with an entry that has only that path; after any other error there is
// nothing.
func (f *Files) Walk(ctx context.Context, path protocol.PathURI, options WalkOptions) iter.Seq2[protocol.WalkEntry, error] {
	return func(yield func(protocol.WalkEntry, error) bool) {
		info, err := f.Stat(ctx, path)
		if err == nil && info.metadata.IsSymlink {
			path, err = f.Canonicalize(ctx, path)
		}
		if err != nil {
			yield(protocol.WalkEntry{}, err)
			return
		}
		depth := options.MaxDepth
		if depth <= 0 {
			depth = math.MaxInt
		}
		w := &walk{files: f, skipHidden: options.SkipHidden, yield: yield}
		w.tree(ctx, path, depth)
	}
}

// walk is a walk under way. Its methods report whether it goes on.
type walk struct {
	files      *Files
	skipHidden bool
	yield      func(protocol.WalkEntry, error) bool
}

// tree lists what is below a directory, and so many directories down.
func (w *walk) tree(ctx context.Context, dir protocol.PathURI, depth int) bool {
	levels := min(depth, limits.WalkDepth+1)
	found, err := w.ask(ctx, dir, levels)
	switch {
	case err != nil:
		return w.fail(dir, err)
	case found.Truncated:
		return w.level(ctx, dir, depth)
	case !w.tell(found):
		return false
	case depth == levels:
		return true
	}
	for _, e := range found.Entries {
		if w.isEntered(e) && levelsBelow(dir, e.Path) == levels && !w.tree(ctx, e.Path, depth-levels) {
			return false
		}
	}
	return true
}

// level lists what is in a directory, with each tree below it by itself.
func (w *walk) level(ctx context.Context, dir protocol.PathURI, depth int) bool {
	found, err := w.ask(ctx, dir, 1)
	if err == nil && found.Truncated {
		found, err = w.one(ctx, dir)
	}
	if err != nil {
		return w.fail(dir, err)
	}
	if !w.tell(found) {
		return false
	}
	for _, e := range found.Entries {
		if depth > 1 && w.isEntered(e) && levelsBelow(dir, e.Path) == 1 && !w.tree(ctx, e.Path, depth-1) {
			return false
		}
	}
	return true
}

// ask has the executor walk some levels down.
func (w *walk) ask(ctx context.Context, dir protocol.PathURI, levels int) (*protocol.WalkResult, error) {
	found, err := ofPath[protocol.WalkResult](ctx, w.files, "walk", dir, protocol.MethodWalk, &protocol.WalkParams{
		Path: dir,
		Options: protocol.WalkOptions{
			MaxDepth: uint64(levels - 1), MaxDirectories: limits.WalkDirectories, MaxEntries: limits.WalkEntries,
			PruneHiddenDirectories: w.skipHidden,
		},
	})
	if err != nil {
		return nil, err
	}
	for _, e := range found.Entries {
		if below := levelsBelow(dir, e.Path); below == 0 || below > levels {
			return nil, w.files.pathError("walk", dir, fmt.Errorf("%w: it tells of %s", errNoAnswer, e.Path))
		}
	}
	return found, nil
}

// one lists a directory that alone is too much for a walk.
func (w *walk) one(ctx context.Context, dir protocol.PathURI) (*protocol.WalkResult, error) {
	entries, err := w.files.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	found := &protocol.WalkResult{}
	for some := range slices.Chunk(entries, limits.WalkStats) {
		if err := w.look(ctx, dir, some, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// look adds what entries of a directory are, which a list does not tell of links.
func (w *walk) look(ctx context.Context, dir protocol.PathURI, entries []fs.DirEntry, found *protocol.WalkResult) error {
	paths := make([]protocol.PathURI, len(entries))
	infos := make([]*FileInfo, len(entries))
	errs := make([]error, len(entries))
	var looking sync.WaitGroup
	for i, e := range entries {
		looking.Go(func() {
			if paths[i], errs[i] = dir.Join(e.Name()); errs[i] == nil {
				infos[i], errs[i] = w.files.Stat(ctx, paths[i])
			}
		})
	}
	looking.Wait()
	for i, info := range infos {
		switch refused := refusal(errs[i]); {
		case refused != nil:
			found.Errors = append(found.Errors, protocol.WalkError{Path: paths[i], Message: refused.Message})
		case errs[i] != nil:
			return errs[i]
		case info.metadata.IsSymlink:
		case info.IsDir():
			found.Entries = append(found.Entries, protocol.WalkEntry{Path: paths[i], Kind: protocol.EntryDirectory})
		case info.metadata.IsFile:
			found.Entries = append(found.Entries, protocol.WalkEntry{Path: paths[i], Kind: protocol.EntryFile})
		}
	}
	return nil
}

// tell hands out what has been found.
func (w *walk) tell(found *protocol.WalkResult) bool {
	for _, e := range found.Errors {
		if !w.yield(protocol.WalkEntry{Path: e.Path}, w.files.told("walk", e)) {
			return false
		}
	}
	for _, e := range found.Entries {
		if !w.yield(e, nil) {
			return false
		}
	}
	return true
}

// fail hands out an error about a directory. The walk goes on if the executor has
// told it: the directory may have vanished.
func (w *walk) fail(dir protocol.PathURI, err error) bool {
	if refusal(err) == nil {
		w.yield(protocol.WalkEntry{}, err)
		return false
	}
	return w.yield(protocol.WalkEntry{Path: dir}, err)
}

// isEntered tells whether a walk looks into what it has found.
func (w *walk) isEntered(e protocol.WalkEntry) bool {
	return e.Kind == protocol.EntryDirectory && (!w.skipHidden || !strings.HasPrefix(e.Path.Base(), "."))
}

// levelsBelow returns how far below a directory a path is; 0 if it is not. No name
// of a file has a slash in it, by which it could lead elsewhere.
func levelsBelow(dir, path protocol.PathURI) int {
	rest, below := strings.CutPrefix(path.String(), strings.TrimSuffix(dir.String(), "/")+"/")
	if !below || rest == "" || strings.Contains(strings.ToUpper(rest), "%2F") {
		return 0
	}
	return 1 + strings.Count(rest, "/")
}
