package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/alecthomas/kong"
)

// fsRMCommand is `airlock fs rm`.
type fsRMCommand struct {
	Recursive bool `short:"r" help:"Remove directories, too, with all that is in them."`
	Force     bool `short:"f" help:"Take what is not there for removed."`

	Paths []string `arg:"" name:"path" complete:"file" help:"What to remove."`
}

// Help is printed between the summary and the flags.
func (*fsRMCommand) Help() string {
	return `Of a symbolic link the link itself is removed. The root, "." and ".." are not removed.`
}

// Reasons not to remove something.
var (
	errIsDirectory = errors.New("it is a directory: -r removes it with all that is in it")
	errNotRemoved  = errors.New("it is not removed: name what is in it, or give another path that leads there")
)

// Run removes.
func (c *fsRMCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.each(c.Paths, func(path remotePath) error { return c.remove(ctx, h, path) })
	})
}

func (c *fsRMCommand) remove(ctx context.Context, h *host, path remotePath) error {
	if isSpecial(path) {
		return &pathError{path.text, errNotRemoved}
	}
	// If that fails it may be a link that leads nowhere.
	info, err := h.Stat(ctx, path.uri)
	isDirectory := err == nil && info.IsDir() && !info.Metadata().IsSymlink
	switch {
	case isDirectory && !c.Recursive:
		return &pathError{path.text, errIsDirectory}
	case isDirectory:
		return h.RemoveAll(ctx, path.uri)
	}
	err = h.Remove(ctx, path.uri)
	if c.Force && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isSpecial tells whether a path is one that nobody means to remove: a root, or one
// that ends in "." or "..".
func isSpecial(path remotePath) bool {
	if _, below := path.uri.Parent(); !below {
		return true
	}
	text := strings.TrimRight(strings.ReplaceAll(path.text, `\`, "/"), "/")
	last := text[strings.LastIndexByte(text, '/')+1:]
	return last == "." || last == ".."
}
