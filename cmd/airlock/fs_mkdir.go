package main

import (
	"context"

	"github.com/alecthomas/kong"
)

// fsMkdirCommand is `airlock fs mkdir`.
type fsMkdirCommand struct {
	Parents bool `short:"p" help:"Make also the directories that lead there. One that is there already is no error."`

	Paths []string `arg:"" name:"path" complete:"file" help:"The directories to make."`
}

// Run makes them.
func (c *fsMkdirCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.each(c.Paths, func(path remotePath) error {
			if c.Parents {
				return h.MkdirAll(ctx, path.uri)
			}
			return h.Mkdir(ctx, path.uri)
		})
	})
}
