package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/protocol"
)

// fsGrepCommand is `airlock fs grep`.
type fsGrepCommand struct {
	Fixed      bool     `name:"fixed-strings" short:"F" help:"Take the pattern for a text, not for a regular expression."`
	IgnoreCase bool     `short:"i" help:"Take upper and lower case for the same."`
	Include    []string `sep:"none" placeholder:"GLOB" help:"Look only into files that match this glob, such as *.go or src/**/*.c. May be given more than once."`
	Exclude    []string `sep:"none" placeholder:"GLOB" help:"Look into no files and directories that match this glob. May be given more than once."`
	Hidden     bool     `help:"Look also into what has a name that begins with a dot."`
	NoIgnore   bool     `help:"Look also into what the files .gitignore and .ignore say to leave out."`
	Files      bool     `name:"files-with-matches" short:"l" xor:"what" help:"Print only the paths of the files that match."`
	Count      bool     `short:"c" xor:"what" help:"Print only how many lines match in each file that does."`
	JSON       bool     `name:"json" help:"Print a JSON object for each match, file or count, one a line."`
	Habits     bool     `name:"recursive" short:"r" help:"Do nothing, for those used to other programs: directories are always looked into."`
	Numbers    bool     `name:"line-number" short:"n" help:"Do nothing, for those used to other programs: numbers are always printed."`

	Pattern string   `arg:"" help:"The regular expression to look for, in the syntax of RE2, within lines."`
	Paths   []string `arg:"" optional:"" name:"path" complete:"file" help:"The directories or files to look into (default: the working directory)."`
}

// Help is printed between the summary and the flags.
func (*fsGrepCommand) Help() string {
	return `Each line that matches is printed as PATH:LINE:TEXT, in the order of paths and lines. The executor looks, and only what matches comes here. A glob without a slash is about names, another one about the path below the directory that is looked into. Of a long line only what is around the match is shown, between dots.

The exit status is 0 if something matches, 1 if nothing does, and 2 if something has failed, also if there are matches.

With --json a match is an object with "path", a URI, "line", "text" and where in the line the match is, in bytes: "start" and "end". "offset" is where the line begins in the file; of a long line, "textStart" is where the text begins in it. A text has U+FFFD for what is not UTF-8. With --files-with-matches there is just "path", with --count also "count".

It takes an Airlock executor that has not switched it off (fsSearch).`
}

// exitNoMatch and exitGrepFailed are exit statuses that grep has.
const (
	exitNoMatch    = 1
	exitGrepFailed = 2
)

// Run looks for the pattern.
func (c *fsGrepCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	if len(c.Paths) == 0 {
		c.Paths = []string{"."}
	}
	ctx := context.Background()
	matched := false
	err := group.run(ctx, kctx, log, func(h *host) error {
		if !offers(h.info, protocol.FeatureFSSearch) {
			return unsupported("looking for text", protocol.FeatureFSSearch, "`airlock run --url … grep` may do")
		}
		g := &grep{host: h, command: c}
		err := h.each(c.Paths, func(top remotePath) error { return g.search(ctx, top) })
		matched = g.matched
		return err
	})
	return grepStatus(err, matched)
}

// grepStatus gives an outcome the exit status that grep has for it.
func grepStatus(err error, matched bool) error {
	status, isStatus := errors.AsType[statusError](err)
	switch {
	case isStatus && status > exitSignal: // nobody reads what is printed
		return status
	case isStatus:
		return statusError(exitGrepFailed)
	case err != nil:
		return &exitError{exitGrepFailed, err}
	case !matched:
		return statusError(exitNoMatch)
	}
	return nil
}

// grep prints what a search finds.
type grep struct {
	*host
	command *fsGrepCommand
	matched bool
	path    protocol.PathURI // of the file that matches come from,
	count   uint64           // and how many have
}

func (g *grep) search(ctx context.Context, top remotePath) error {
	c := g.command
	for match, err := range g.Search(ctx, protocol.SearchParams{
		Path: top.uri, Pattern: c.Pattern, Regexp: !c.Fixed, IgnoreCase: c.IgnoreCase,
		Include: c.Include, Exclude: c.Exclude, IgnoreFiles: !c.NoIgnore, Hidden: c.Hidden,
	}) {
		if err != nil && match.Path.String() == "" {
			return err
		}
		if err != nil {
			g.tell(err)
			continue
		}
		if err := g.take(top, &match); err != nil {
			return err
		}
	}
	return g.endFile(top)
}

// take prints a match, or counts it.
func (g *grep) take(top remotePath, match *protocol.SearchMatch) error {
	g.matched = true
	if g.command.Files || g.command.Count {
		if match.Path != g.path {
			if err := g.endFile(top); err != nil {
				return err
			}
			g.path = match.Path
		}
		g.count++
		return nil
	}
	if g.command.JSON {
		return g.out.object(match)
	}
	return g.out.line(fmt.Sprintf("%s:%d:%s", g.out.text(g.below(top, match.Path)), match.Line, g.lineText(match)))
}

// lineText returns the text of a match as it is to be printed.
func (g *grep) lineText(match *protocol.SearchMatch) string {
	text := match.Text
	if g.out.terminal {
		parts := strings.Split(text, "\t")
		for i, part := range parts {
			parts[i] = printableLines(part)
		}
		text = strings.Join(parts, "\t")
	}
	if match.TextStart > 0 {
		text = "…" + text
	}
	return text
}

// countJSON is what --json prints of a file.
type countJSON struct {
	Path  protocol.PathURI `json:"path"`
	Count uint64           `json:"count,omitzero"`
}

// endFile prints what there is to say of a file whose matches have all come.
func (g *grep) endFile(top remotePath) error {
	if g.count == 0 {
		return nil
	}
	count := g.count
	g.count = 0
	if g.command.Files {
		count = 0
	}
	text := g.out.text(g.below(top, g.path))
	switch {
	case g.command.JSON:
		return g.out.object(&countJSON{g.path, count})
	case count > 0:
		text += fmt.Sprintf(":%d", count)
	}
	return g.out.line(text)
}
