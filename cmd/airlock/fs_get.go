package main

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/internal/transfer"
)

// fsGetCommand is `airlock fs get`.
type fsGetCommand struct {
	transferFlags

	Paths []string `arg:"" name:"path" complete:"file" help:"What to copy from the host and, last, where to here, with - for standard output."`
}

// Help is printed between the summary and the flags.
func (*fsGetCommand) Help() string {
	return `Into a directory files are copied under their own names; a directory that is there already under that name keeps what else it holds. A file that is replaced keeps its permission bits; those of the file on the other side are not told by executors. Symbolic links to files are followed, those to directories are left out, which is an error.

` + transferHelp + `Nothing is written outside of where it is to go, whatever names the executor tells.`
}

// Run copies.
func (c *fsGetCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	sources, last, err := splitPaths(c.Paths)
	if err != nil {
		return err
	}
	return c.move(group, kctx, log, func(ctx context.Context, m *mover) error {
		if last == "-" {
			return m.each(sources, func(source remotePath) error { return m.GetStream(ctx, source.uri, m.out) })
		}
		into, err := localDestination(last, len(sources) > 1)
		if err != nil {
			return err
		}
		return m.each(sources, func(source remotePath) error { return c.get(ctx, m, source, into) })
	})
}

func (c *fsGetCommand) get(ctx context.Context, m *mover, source remotePath, into func(string) (string, error)) error {
	info, err := m.Stat(ctx, source.uri)
	if err != nil {
		return err
	}
	local, err := into(transfer.NameOf(source.uri))
	switch {
	case err != nil:
		return err
	case info.IsDir() && !c.Recursive:
		return &pathError{source.text, errIsDirectoryHere}
	case info.IsDir():
		return m.GetTree(ctx, source.uri, local)
	}
	m.shown.expect(info.Size())
	m.resumes = true
	return m.Get(ctx, source.uri, local)
}
