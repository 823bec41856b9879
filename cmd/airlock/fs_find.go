package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"
	"github.com/bmatcuk/doublestar/v4"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transfer"
	"github.com/airlock-exec/airlock/protocol"
)

// fsFindCommand is `airlock fs find`.
type fsFindCommand struct {
	Type     string `enum:",f,d" default:"" placeholder:"TYPE" help:"List only files (f) or only directories (d)."`
	Name     string `placeholder:"GLOB" help:"List only what has a name that matches this glob, such as *.go or {a,b}*."`
	MaxDepth count  `placeholder:"N" help:"Look only so many directories down, with 1 only into the one that is named (default: all)."`
	NoHidden bool   `help:"Look into no directories whose names begin with a dot."`
	Print0   bool   `name:"print0" xor:"form" help:"End each path with a NUL in place of a line feed, for xargs -0."`
	JSON     bool   `name:"json" xor:"form" help:"Print a JSON object for each path, one a line."`

	Paths []string `arg:"" optional:"" name:"path" complete:"file" help:"The directories to look below (default: the working directory)."`
}

// Help is printed between the summary and the flags.
func (*fsFindCommand) Help() string {
	return `What is below a directory is listed in full, however much it is, directories before what is in them. Symbolic links and what is neither file nor directory is not listed: executors leave it out. What can't be looked into is told, and makes the exit status 1.

With --json an object has "path", a URI, and "type", which is file or directory.`
}

// foundJSON is what --json prints of a path.
type foundJSON struct {
	Path protocol.PathURI   `json:"path"`
	Type protocol.EntryKind `json:"type"`
}

// Run lists what is there.
func (c *fsFindCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	if !doublestar.ValidatePattern(c.Name) {
		return &exitError{exitUsage, errors.New("--name: the glob makes no sense: a bracket or a brace may not be closed")}
	}
	if len(c.Paths) == 0 {
		c.Paths = []string{"."}
	}
	ctx := context.Background()
	options := client.WalkOptions{MaxDepth: c.MaxDepth.int(), SkipHidden: c.NoHidden}
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.each(c.Paths, func(top remotePath) error {
			for entry, err := range h.Walk(ctx, top.uri, options) {
				if err != nil && entry.Path.String() == "" {
					return err
				}
				if err != nil {
					h.tell(err)
					continue
				}
				if c.matches(entry) {
					if err := c.print(h, top, entry); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// matches tells whether an entry is asked for.
func (c *fsFindCommand) matches(entry protocol.WalkEntry) bool {
	wanted := map[string]protocol.EntryKind{"f": protocol.EntryFile, "d": protocol.EntryDirectory}[c.Type]
	if wanted != "" && entry.Kind != wanted {
		return false
	}
	return c.Name == "" || doublestar.MatchUnvalidated(c.Name, transfer.NameOf(entry.Path))
}

func (c *fsFindCommand) print(h *host, top remotePath, entry protocol.WalkEntry) error {
	switch {
	case c.JSON:
		return h.out.object(&foundJSON{entry.Path, entry.Kind})
	case c.Print0:
		_, err := h.out.WriteString(h.below(top, entry.Path) + "\x00")
		return err
	}
	return h.out.line(h.out.text(h.below(top, entry.Path)))
}
