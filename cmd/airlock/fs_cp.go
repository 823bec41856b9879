package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/protocol"
)

// fsCPCommand is `airlock fs cp`.
type fsCPCommand struct {
	Recursive   bool `short:"r" help:"Copy directories, too, with all that is in them."`
	NoOverwrite bool `short:"n" help:"Leave what exists as it is, which then is an error."`

	Paths []string `arg:"" name:"path" complete:"file" help:"What to copy and, last, where to: a directory, or the new path of one."`
}

// Help is printed between the summary and the flags.
func (*fsCPCommand) Help() string {
	return `Nothing passes through here: the executor copies. Into a directory things are copied under their own names. A directory that is there already under that name keeps what else it holds. A symbolic link is copied as a link. Permission bits go with files; times do not.`
}

// Run copies.
func (c *fsCPCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.eachTo(ctx, c.Paths, func(source remotePath, destination protocol.PathURI) error {
			if c.NoOverwrite {
				if err := h.isFree(ctx, destination); err != nil {
					return err
				}
			}
			if c.Recursive {
				return h.CopyAll(ctx, source.uri, destination)
			}
			if info, err := h.Stat(ctx, source.uri); err == nil && info.IsDir() && !info.Metadata().IsSymlink {
				return &pathError{source.text, errors.New("it is a directory: -r copies it with all that is in it")}
			}
			return h.Copy(ctx, source.uri, destination)
		})
	})
}

// isFree returns an error if there is something at a path.
func (h *host) isFree(ctx context.Context, path protocol.PathURI) error {
	_, err := h.Stat(ctx, path)
	switch {
	case err == nil:
		return &fs.PathError{Op: "create", Path: path.String(), Err: fmt.Errorf("it is left as it is (-n): %w", fs.ErrExist)}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}
