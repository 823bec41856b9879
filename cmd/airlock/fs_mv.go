package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/internal/transfer"
	"github.com/airlock-exec/airlock/protocol"
)

// fsMVCommand is `airlock fs mv`.
type fsMVCommand struct {
	NoOverwrite bool `short:"n" help:"Leave what exists as it is, which then is an error."`

	Paths []string `arg:"" name:"path" complete:"file" help:"What to move and, last, where to: a directory, or the new path of one."`
}

// Help is printed between the summary and the flags.
func (*fsMVCommand) Help() string {
	return `Into a directory things are moved under their own names. Within a file system that happens at once or not at all. From one file system to another it is copied, and then removed; what that could not do is told, and nothing is removed that has not been copied.

It takes an Airlock executor that has not switched it off (fsRename). With others, copy and remove.`
}

// Run moves.
func (c *fsMVCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		if !offers(h.info, protocol.FeatureFSRename) {
			return unsupported("moving", protocol.FeatureFSRename, "copy with `airlock fs cp -r`, then remove with `airlock fs rm -r`")
		}
		return h.eachTo(ctx, c.Paths, func(source remotePath, destination protocol.PathURI) error {
			err := h.Rename(ctx, source.uri, destination, !c.NoOverwrite)
			if err != nil && isOtherFileSystem(h.info, err) {
				return c.across(ctx, h, source, destination)
			}
			return err
		})
	})
}

// isOtherFileSystem tells whether something can't be renamed because it would have to
// leave its file system.
func isOtherFileSystem(info *protocol.EnvironmentInfo, err error) bool {
	number := "(os error 18)" // EXDEV
	if info.PlatformOS == windowsOS {
		number = "(os error 17)" // ERROR_NOT_SAME_DEVICE
	}
	return strings.HasSuffix(err.Error(), number)
}

// across moves from one file system to another.
func (c *fsMVCommand) across(ctx context.Context, h *host, source remotePath, destination protocol.PathURI) error {
	there, err := h.Stat(ctx, destination)
	if c.NoOverwrite || err == nil && there.IsDir() { // which copying would add to
		if err := h.isFree(ctx, destination); err != nil {
			return err
		}
	}
	// A link that leads nowhere is not found, and is copied.
	if err := h.canCopy(ctx, source.uri); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := h.CopyAll(ctx, source.uri, destination); err != nil {
		return &pathError{source.text, fmt.Errorf("it is on another file system, and copying it has failed, so that it is still there, "+
			"and perhaps a part of it at the destination: %w", h.explain(err))}
	}
	if err := h.RemoveAll(ctx, source.uri); err != nil {
		return &pathError{source.text, fmt.Errorf("it has been copied to another file system, but not all of it could be removed here: %w", h.explain(err))}
	}
	return nil
}

// errNotCopied is about what executors leave out when they copy a directory.
var errNotCopied = errors.New("it is on another file system, and can't be copied there: it is no file, no directory and no symbolic link")

// canCopy returns an error if there is something at a path, or below it, that copying
// would leave out.
func (h *host) canCopy(ctx context.Context, path protocol.PathURI) error {
	info, err := h.Stat(ctx, path)
	if err != nil {
		return err
	}
	switch m := info.Metadata(); {
	case m.IsSymlink || m.IsFile:
		return nil
	case !m.IsDirectory:
		return &fs.PathError{Op: "copy", Path: path.String(), Err: errNotCopied}
	}
	entries, err := transfer.List(ctx, h.Files, path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsFile {
			continue
		}
		err := h.canCopy(ctx, e.Path)
		if errors.Is(err, fs.ErrNotExist) { // its name can't be told, or it is just gone
			err = &fs.PathError{Op: "copy", Path: e.Path.String(), Err: errNotCopied}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
