package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/airlock-exec/airlock/protocol"
)

// fsStatCommand is `airlock fs stat`.
type fsStatCommand struct {
	JSON bool `name:"json" help:"Print a JSON object for each path, one a line."`

	Paths []string `arg:"" name:"path" complete:"file" help:"What to tell about."`
}

// Help is printed between the summary and the flags.
func (*fsStatCommand) Help() string {
	return `What is told of a symbolic link is about what it leads to, and where that is. Of a path the canonical form is told, without symbolic links in it.

With --json an object has "path" and "canonical", which are URIs, "type", which is file, directory or other, "symlink", "size", "modifiedAtMs" and "createdAtMs", in milliseconds since 1970 and 0 if that is not known.`
}

// statJSON is what --json prints of a path.
type statJSON struct {
	Path         protocol.PathURI `json:"path"`
	Canonical    protocol.PathURI `json:"canonical"`
	Type         string           `json:"type"`
	Symlink      bool             `json:"symlink"`
	Size         uint64           `json:"size"`
	ModifiedAtMs int64            `json:"modifiedAtMs"`
	CreatedAtMs  int64            `json:"createdAtMs"`
}

// Run tells what is there.
func (c *fsStatCommand) Run(group *fsCommand, kctx *kong.Context, log *logFlags) error {
	ctx := context.Background()
	return group.run(ctx, kctx, log, func(h *host) error {
		return h.each(c.Paths, func(path remotePath) error {
			info, err := h.Stat(ctx, path.uri)
			if err != nil {
				return err
			}
			canonical, err := h.Canonicalize(ctx, path.uri)
			if err != nil {
				return err
			}
			m := info.Metadata()
			s := &statJSON{
				path.uri, canonical, typeName(m.IsDirectory, m.IsFile), m.IsSymlink, m.Size, m.ModifiedAtMs, m.CreatedAtMs,
			}
			if c.JSON {
				return h.out.object(s)
			}
			return h.printStat(path, s)
		})
	})
}

// printStat prints the same for a person.
func (h *host) printStat(path remotePath, s *statJSON) error {
	kind := s.Type
	if s.Symlink {
		kind = "symbolic link to a " + kind
	}
	_, err := fmt.Fprintf(h.out, "path:      %s\ntype:      %s\nsize:      %d\nmodified:  %s\ncreated:   %s\ncanonical: %s\n",
		h.out.text(path.text), kind, s.Size, timeText(s.ModifiedAtMs), timeText(s.CreatedAtMs), h.out.text(h.native(s.Canonical)))
	return err
}

// typeName names what is at a path.
func typeName(isDirectory, isFile bool) string {
	switch {
	case isDirectory:
		return "directory"
	case isFile:
		return "file"
	}
	return "other"
}

// typeLetter is what a long list shows in place of a type's name.
func typeLetter(m *protocol.FileMetadata) rune {
	switch {
	case m.IsSymlink:
		return 'l'
	case m.IsDirectory:
		return 'd'
	case m.IsFile:
		return '-'
	}
	return '?'
}

// timeText shows a time, which is so many milliseconds after 1970.
func timeText(ms int64) string {
	if ms == 0 {
		return "not known       "[:len(time.DateTime)-3]
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04")
}
