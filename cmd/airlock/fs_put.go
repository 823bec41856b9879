package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/protocol"
)

// fsPutCommand is `airlock fs put`.
type fsPutCommand struct {
	transferFlags

	Paths []string `arg:"" name:"path" complete:"file" help:"What to copy, with - for standard input, and, last, where to on the host."`
}

// Help is printed between the summary and the flags.
func (*fsPutCommand) Help() string {
	return `Into a directory files are copied under their own names; a directory that is there already under that name keeps what else it holds. Permission bits go with files, where the executor can set them.

` + transferHelp + `An executor that is no Airlock can neither rename files nor go on with them: they are written in place, and anew.`
}

// errIsDirectoryHere is about a directory that would have to be copied.
var errIsDirectoryHere = errors.New("it is a directory: -r copies it with all that is in it")

// Run copies.
func (c *fsPutCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	sources, last, err := splitPaths(c.Paths)
	if err != nil {
		return err
	}
	return c.move(group, kctx, log, func(ctx context.Context, m *mover) error {
		into, err := m.destination(ctx, last, len(sources) > 1)
		if err != nil {
			return err
		}
		for _, source := range sources {
			if err := m.skip(c.put(ctx, m, source, into)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *fsPutCommand) put(ctx context.Context, m *mover, source string, into func(string) (protocol.PathURI, error)) error {
	if source == "-" {
		destination, err := into("")
		if err != nil {
			return err
		}
		return m.PutStream(ctx, os.Stdin, destination)
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	full, err := filepath.Abs(source) // "." has a name, too
	if err != nil {
		return err
	}
	name := filepath.Base(full)
	if filepath.Dir(full) == full {
		name = ""
	}
	destination, err := into(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() && !c.Recursive:
		return &pathError{source, errIsDirectoryHere}
	case info.IsDir():
		return m.PutTree(ctx, source, destination)
	}
	m.shown.expect(info.Size())
	m.resumes = offers(m.info, protocol.FeatureFSRename) && offers(m.info, protocol.FeatureFSOpenKeep)
	return m.Put(ctx, source, destination)
}
