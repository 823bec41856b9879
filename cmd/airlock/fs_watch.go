package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// fsWatchCommand is `airlock fs watch`.
type fsWatchCommand struct {
	Recursive bool     `short:"r" help:"Watch also what is below the directory, and what is made there later."`
	Include   []string `sep:"none" placeholder:"GLOB" help:"Tell only of what matches this glob, such as *.go or src/**. May be given more than once."`
	Exclude   []string `sep:"none" placeholder:"GLOB" help:"Tell of nothing that matches this glob. May be given more than once."`
	Once      bool     `help:"End after the first changes."`
	JSON      bool     `name:"json" help:"Print a JSON object for each change, one a line."`

	Path string `arg:"" optional:"" default:"." complete:"file" help:"The file or directory to watch (default: the working directory)."`
}

// Help is printed between the summary and the flags.
func (*fsWatchCommand) Help() string {
	return `A line is "created PATH", "modified PATH" or "removed PATH"; what is renamed is removed there and created here. Changes of one path that follow one another soon are one line. When changes may have been missed, as there were too many or the connection was lost, a line says "rescan PATH", with the path that is watched: whoever wants to know what is there has to look. Standard error says when it begins.

With --json the first line is {"event":"watching","path":URI}, as soon as nothing is missed any more; then "event" is created, modified, removed or rescan.

It ends with an interrupt, or when what is watched is gone. It takes an Airlock executor that has not switched it off (fsWatch).`
}

// changeJSON is what --json prints of a change.
type changeJSON struct {
	Event string           `json:"event"`
	Path  protocol.PathURI `json:"path"`
}

// Run tells of changes.
func (c *fsWatchCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		if !offers(h.info, protocol.FeatureFSWatch) {
			return unsupported("watching", protocol.FeatureFSWatch, "look again and again with `airlock fs ls -l`")
		}
		path, err := h.path(c.Path)
		if err != nil {
			return err
		}
		watcher, err := h.Watch(ctx, protocol.WatchParams{
			Path: path.uri, Recursive: c.Recursive, Include: c.Include, Exclude: c.Exclude,
		})
		if err != nil {
			return err
		}
		defer watcher.Close()
		if err := c.begun(h, path); err != nil {
			return err
		}
		for ended := false; !ended; ended = c.Once {
			changes, err := watcher.Next(ctx)
			if errors.Is(err, client.ErrWatchEnded) {
				return fmt.Errorf("%w: what is watched is gone, perhaps", h.explain(err))
			}
			if err != nil {
				return err
			}
			if err := c.print(h, path, &changes); err != nil {
				return err
			}
		}
		return nil
	})
}

// begun says that nothing is missed from now on.
func (c *fsWatchCommand) begun(h *host, path remotePath) error {
	if !c.JSON {
		_, err := fmt.Fprintf(h.stderr, "airlock: watching %s\n", printable(path.text))
		return err
	}
	if err := h.out.object(&changeJSON{"watching", path.uri}); err != nil {
		return err
	}
	return h.out.flush()
}

func (c *fsWatchCommand) print(h *host, top remotePath, changes *client.Changes) error {
	all := make([]changeJSON, 0, len(changes.Changes)+1)
	for _, change := range changes.Changes {
		all = append(all, changeJSON{string(change.Kind), change.Path})
	}
	if changes.Rescan {
		all = append(all, changeJSON{"rescan", top.uri})
	}
	for i := range all {
		var err error
		if c.JSON {
			err = h.out.object(&all[i])
		} else {
			err = h.out.line(all[i].Event + " " + h.out.text(h.below(top, all[i].Path)))
		}
		if err != nil {
			return err
		}
	}
	return h.out.flush()
}
