package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// entry is what stands in a directory.
type entry struct {
	name string
	kind fs.FileMode // its type; of a symbolic link, that of what it leads to
	link bool
}

// listedAtOnce is how many entries are taken at a time.
const listedAtOnce = 1024

// list returns what is in a directory in the order of the names, but for symbolic
// links that lead nowhere, and no more than the first most. Follow allows the
// directory itself to be a symbolic link.
func list(ctx context.Context, path string, follow bool, most int) ([]entry, error) {
	open := (*dir)(nil).openDir
	if !follow {
		open = (*dir)(nil).sub
	}
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if _, err := d.status(".", false); err != nil {
		return nil, nil // nothing in it can be reached
	}
	var entries []entry
	for {
		batch, err := d.entries(listedAtOnce)
		for _, e := range batch {
			entries = append(entries, entry{name: e.Name(), kind: e.Type()})
		}
		switch {
		case errors.Is(err, io.EOF):
			return d.settle(ctx, entries, most)
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case len(entries) > 2*most+listedAtOnce:
			// So that what is held has a bound.
			if entries, err = d.settle(ctx, entries, most); err != nil {
				return nil, err
			}
		}
	}
}

// settle sorts entries, finds out where symbolic links lead, and keeps the first
// most of those that lead anywhere.
func (d *dir) settle(ctx context.Context, entries []entry, most int) ([]entry, error) {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	kept := entries[:0]
	for _, e := range entries {
		if len(kept) == most {
			break
		}
		if e.kind&fs.ModeSymlink != 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			st, err := d.status(e.name, true)
			if err != nil {
				continue
			}
			e.kind, e.link = st.mode.Type(), true
		}
		kept = append(kept, e)
	}
	clear(entries[len(kept):])
	return kept, nil
}
