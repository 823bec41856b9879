package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transfer"
	"github.com/airlock-exec/airlock/protocol"
)

// fsLSCommand is `airlock fs ls`.
type fsLSCommand struct {
	All       bool `short:"a" help:"Show also names that begin with a dot."`
	Long      bool `short:"l" help:"Show types, sizes and times of modification, too."`
	Recursive bool `short:"R" help:"List also the directories in it, and those in them."`
	JSON      bool `name:"json" help:"Print a JSON object for each entry, one a line."`

	Paths []string `arg:"" optional:"" name:"path" complete:"file" help:"What to list (default: the working directory)."`
}

// Help is printed between the summary and the flags.
func (*fsLSCommand) Help() string {
	return `With --long a line begins with the type: d for a directory, - for a file and ? for anything else; l is a symbolic link, of which the rest is about what it leads to. A link that leads nowhere is not shown: executors leave it out. They don't tell permissions either. Into directories that links lead to --recursive does not look.

With --json an object has "path", a URI, "name", and "type", which is file, directory or other; with --long also "symlink", "size", "modifiedAtMs" and "createdAtMs", in milliseconds since 1970 and 0 if that is not known.`
}

// Run lists.
func (c *fsLSCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	if len(c.Paths) == 0 {
		c.Paths = []string{"."}
	}
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		l := &lister{host: h, command: c, heads: len(c.Paths) > 1 || c.Recursive}
		var directories []remotePath
		err := h.each(c.Paths, func(path remotePath) error {
			info, err := h.Stat(ctx, path.uri)
			switch {
			case err != nil:
				return err
			case info.IsDir():
				directories = append(directories, path)
				return nil
			}
			entry := transfer.Entry{Path: path.uri, Name: path.text, IsFile: info.Metadata().IsFile}
			return l.print([]listed{{entry, info}})
		})
		for _, path := range directories {
			if err == nil {
				err = l.directory(ctx, path)
			}
		}
		return err
	})
}

// lister prints what directories hold.
type lister struct {
	*host
	command *fsLSCommand
	heads   bool // each directory has its path above it
	printed bool // something is
}

// listed is an entry with what is known of it, if that was asked for.
type listed struct {
	transfer.Entry
	info *client.FileInfo
}

// directory lists a directory. That it can't is an error only if the executor is
// lost.
func (l *lister) directory(ctx context.Context, path remotePath) error {
	entries, err := l.entries(ctx, path.uri)
	if err != nil {
		return l.skip(err)
	}
	if l.heads && !l.command.JSON {
		if err := l.head(path); err != nil {
			return err
		}
	}
	if err := l.print(entries); err != nil || !l.command.Recursive {
		return err
	}
	for _, e := range entries {
		if !e.IsDirectory || e.info.Metadata().IsSymlink {
			continue
		}
		if err := l.directory(ctx, remotePath{l.below(path, e.Path), e.Path}); err != nil {
			return err
		}
	}
	return nil
}

// head prints the path of a directory.
func (l *lister) head(path remotePath) error {
	gap := ""
	if l.printed {
		gap = "\n"
	}
	l.printed = true
	return l.out.line(gap + l.out.text(path.text) + ":")
}

// entries returns what is to be shown of a directory.
func (l *lister) entries(ctx context.Context, dir protocol.PathURI) ([]listed, error) {
	all, err := transfer.List(ctx, l.Files, dir)
	if err != nil {
		return nil, err
	}
	var shown []listed
	for _, e := range all {
		if l.command.All || !strings.HasPrefix(e.Name, ".") {
			shown = append(shown, listed{Entry: e})
		}
	}
	return l.withInfo(ctx, shown)
}

// statsAhead is how many entries are asked about at the same time.
const statsAhead = 16

// withInfo asks for what is needed besides. What vanishes meanwhile is left out.
func (l *lister) withInfo(ctx context.Context, entries []listed) ([]listed, error) {
	faults := make([]error, len(entries))
	var asking sync.WaitGroup
	places := make(chan struct{}, statsAhead)
	for i := range entries {
		e := &entries[i]
		if !l.command.Long && (!l.command.Recursive || !e.IsDirectory) {
			continue
		}
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			e.info, faults[i] = l.Stat(ctx, e.Path)
		})
	}
	asking.Wait()
	known := entries[:0]
	for i, err := range faults {
		switch {
		case err == nil:
			known = append(known, entries[i])
		case !isAbout(err):
			return nil, err
		default:
			l.tell(err)
		}
	}
	return known, nil
}

// print prints entries.
func (l *lister) print(entries []listed) error {
	if l.command.JSON {
		for i := range entries {
			if err := l.out.object(l.object(&entries[i])); err != nil {
				return err
			}
		}
		return nil
	}
	l.printed = l.printed || len(entries) > 0
	if l.command.Long {
		return l.table(entries)
	}
	for i := range entries {
		if err := l.out.line(l.out.text(entries[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

// table prints entries with what is known of them.
func (l *lister) table(entries []listed) error {
	widest := 0
	for _, e := range entries {
		widest = max(widest, len(strconv.FormatUint(e.info.Metadata().Size, 10)))
	}
	for _, e := range entries {
		metadata := e.info.Metadata()
		line := fmt.Sprintf("%c %*d %s %s", typeLetter(&metadata), widest, metadata.Size,
			timeText(metadata.ModifiedAtMs), l.out.text(e.Name))
		if err := l.out.line(line); err != nil {
			return err
		}
	}
	return nil
}

// entryJSON is what --json prints of an entry.
type entryJSON struct {
	Path         protocol.PathURI `json:"path"`
	Name         string           `json:"name"`
	Type         string           `json:"type"`
	Symlink      *bool            `json:"symlink,omitzero"`
	Size         *uint64          `json:"size,omitzero"`
	ModifiedAtMs *int64           `json:"modifiedAtMs,omitzero"`
	CreatedAtMs  *int64           `json:"createdAtMs,omitzero"`
}

func (l *lister) object(e *listed) *entryJSON {
	object := &entryJSON{Path: e.Path, Name: e.Name, Type: typeName(e.IsDirectory, e.IsFile)}
	if l.command.Long {
		m := e.info.Metadata()
		object.Symlink, object.Size = &m.IsSymlink, &m.Size
		object.ModifiedAtMs, object.CreatedAtMs = &m.ModifiedAtMs, &m.CreatedAtMs
	}
	return object
}
