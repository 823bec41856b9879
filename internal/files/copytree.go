package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/airlock-exec/airlock/internal/limits"
)

// treeCopy is the copying of a tree.
type treeCopy struct {
	destination fs.FileInfo // the directory that it goes to
}

// copyTree copies a directory with all that is in it. In a directory that is there
// already, what has no counterpart stays.
func copyTree(ctx context.Context, source, destination string) error {
	if err := checkApart(source, destination); err != nil {
		return err
	}
	from, err := (*dir)(nil).sub(source)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := makeAll(destination); err != nil {
		return err
	}
	to, err := (*dir)(nil).openDir(destination)
	if err != nil {
		return err
	}
	defer to.Close()
	info, err := to.info()
	if err != nil {
		return err
	}
	return (&treeCopy{info}).directory(ctx, from, to, 0)
}

// directory copies what is in a directory.
func (c *treeCopy) directory(ctx context.Context, from, to *dir, depth int) error {
	switch info, err := from.info(); {
	case err != nil:
		return err
	case os.SameFile(info, c.destination):
		return errIntoItself() // it has got there meanwhile, and there would be no end
	case depth == limits.TreeDepth:
		return errTooDeep()
	}
	for {
		names, err := from.names(namesAtOnce)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.entry(ctx, from, to, name, depth); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// entry copies one of the things in a directory. Pipes, devices and sockets are
// left out.
func (c *treeCopy) entry(ctx context.Context, from, to *dir, name string, depth int) error {
	st, err := from.status(name, false)
	switch {
	case err != nil:
		return err
	case st.isLink():
		return copyLink(from, name, to, name)
	case st.mode.IsRegular():
		return copyFile(ctx, from, name, to, name)
	case !st.mode.IsDir():
		return nil
	}
	source, err := from.sub(name)
	if err != nil {
		return err
	}
	defer source.Close()
	destination, err := to.makeSub(name)
	if err != nil {
		return err
	}
	defer destination.Close()
	return c.directory(ctx, source, destination, depth+1)
}

// makeSub opens a directory, and makes it if there is none.
func (d *dir) makeSub(name string) (*dir, error) {
	made := d.mkdir(name)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, made
	}
	sub, err := d.sub(name)
	if errors.Is(err, syscall.ENOTDIR) && made != nil {
		return nil, made
	}
	return sub, err
}
