package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/sandbox"
	"github.com/airlock-exec/airlock/protocol"
)

// namesAtOnce is how many names of a tree's directory are held.
const namesAtOnce = 256

// Remove removes what is at a path; of a symbolic link, the link.
func (*Files) Remove(ctx context.Context, p *protocol.RemoveParams) (*protocol.RemoveResult, error) {
	path, err := path(p.Path, p.Sandbox, sandbox.Write)
	if err != nil {
		return nil, err
	}
	recursive := p.Recursive == nil || *p.Recursive
	force := p.Force == nil || *p.Force
	follow := p.FollowSymlinks == nil || *p.FollowSymlinks
	switch {
	case !follow && recursive:
		return nil, protocol.Errorf(protocol.CodeInternal, "recursive no-follow removal is unsupported")
	case !follow:
		err = removeNoFollow(path)
	case recursive:
		err = removeTree(ctx, path)
	default:
		err = (*dir)(nil).remove(path)
	}
	if err != nil && (!force || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	return &protocol.RemoveResult{}, nil
}

func removeNoFollow(path string) error {
	follow := false
	place, err := locate(path, &follow)
	if err != nil {
		return err
	}
	defer place.Close()
	if place.isTop() {
		return errNoEntry
	}
	st, err := place.status(false)
	switch {
	case err != nil:
		return err
	case st.isLink():
		return errLink
	}
	return place.dir.remove(place.name)
}

// remove removes a file or an empty directory.
func (d *dir) remove(name string) error {
	err := d.unlink(name)
	if d.isDirectory(name, err) {
		return d.rmdir(name)
	}
	return err
}

// isDirectory tells whether it has not been possible to unlink something as it is
// a directory.
func (d *dir) isDirectory(name string, err error) bool {
	if !mayBeDirectory(err) {
		return false
	}
	st, statErr := d.status(name, false)
	return statErr == nil && st.mode.IsDir()
}

// removeTree removes a file, or a directory with all that is in it.
func removeTree(ctx context.Context, path string) error {
	if filepath.Dir(path) == path {
		return errNoEntry // where all others would not ask twice either
	}
	return (*dir)(nil).removeTree(ctx, path, 0)
}

func (d *dir) removeTree(ctx context.Context, name string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.unlink(name); !d.isDirectory(name, err) {
		return err
	}
	if depth == limits.TreeDepth {
		return errTooDeep()
	}
	sub, err := d.sub(name)
	if err != nil {
		return err
	}
	err = sub.empty(ctx, depth+1)
	sub.Close()
	if err != nil {
		return err
	}
	return d.rmdir(name)
}

// empty removes all that is in the directory. What others remove at the same time
// is removed as well.
func (d *dir) empty(ctx context.Context, depth int) error {
	// Some file systems skip names when others are removed meanwhile, so that it
	// is looked anew until there are none.
	for removed := true; removed; {
		removed = false
		for {
			names, err := d.names(namesAtOnce)
			for _, name := range names {
				removed = true
				if err := d.removeTree(ctx, name, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			switch {
			case errors.Is(err, io.EOF):
			case err != nil:
				return err
			default:
				continue
			}
			break
		}
		if removed {
			if err := d.rewind(); err != nil {
				return err
			}
		}
	}
	return nil
}

func errTooDeep() error {
	return protocol.Errorf(protocol.CodeInternal,
		"the tree is more than %d directories deep; have a command do this", limits.TreeDepth)
}
