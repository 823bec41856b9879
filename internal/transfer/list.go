package transfer

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// Entry is what stands in a directory. Its type is that of what a symbolic link
// leads to.
type Entry struct {
	Path protocol.PathURI
	// Name is the last name of the path: whatever bytes it has.
	Name        string
	IsDirectory bool
	IsFile      bool
}

// List lists a directory in the order of the names. Executors tell of names that are
// not UTF-8 only where they walk: such a one is made exact by that, unless it is that
// of a symbolic link, or of what is no file and no directory.
func List(ctx context.Context, files *client.Files, dir protocol.PathURI) ([]Entry, error) {
	listed, err := files.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	var exact map[string][]protocol.PathURI
	entries := make([]Entry, 0, len(listed))
	for _, e := range listed {
		entry := Entry{Name: e.Name(), IsDirectory: e.IsDir(), IsFile: e.Type().IsRegular()}
		if entry.Path, err = dir.Join(e.Name()); err != nil {
			return nil, err
		}
		if strings.ContainsRune(e.Name(), utf8.RuneError) {
			if exact == nil {
				if exact, err = exactNames(ctx, files, dir); err != nil {
					return nil, err
				}
			}
			if found := exact[lossy(e.Name())]; len(found) > 0 {
				entry.Path, exact[lossy(e.Name())] = found[0], found[1:]
				entry.Name = NameOf(entry.Path)
			}
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// exactNames returns the paths in a directory whose names are not UTF-8, or look like
// it, by their lossy names.
func exactNames(ctx context.Context, files *client.Files, dir protocol.PathURI) (map[string][]protocol.PathURI, error) {
	exact := map[string][]protocol.PathURI{}
	for e, err := range files.Walk(ctx, dir, client.WalkOptions{MaxDepth: 1}) {
		if err != nil && e.Path.String() != "" {
			continue // about that one
		}
		if err != nil {
			return nil, err
		}
		if name := lossy(NameOf(e.Path)); strings.ContainsRune(name, utf8.RuneError) {
			exact[name] = append(exact[name], e.Path)
		}
	}
	return exact, nil
}

// lossy returns a name with one U+FFFD in place of all that is not UTF-8 in a row:
// how many there are is told differently.
func lossy(name string) string {
	const replacement = string(utf8.RuneError)
	name = strings.ToValidUTF8(name, replacement)
	for strings.Contains(name, replacement+replacement) {
		name = strings.ReplaceAll(name, replacement+replacement, replacement)
	}
	return name
}

// NameOf returns the last name of a path, also if it is not UTF-8.
func NameOf(path protocol.PathURI) string {
	text := path.String()
	last := text[strings.LastIndexByte(text, '/')+1:]
	if name, err := url.PathUnescape(last); err == nil && !utf8.ValidString(name) {
		return name
	}
	return path.Base()
}
