package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

// TestChanges: what a client is told of what programs do.
func TestChanges(t *testing.T) {
	t.Parallel()
	type does func(t *testing.T, dir string)
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	for _, test := range []struct {
		name    string
		before  does
		flat    bool // not recursive
		include []string
		exclude []string
		do      does
		want    []string
	}{
		{
			name: "a file is made",
			do:   func(t *testing.T, dir string) { write(t, in(dir, "a"), "1") },
			want: []string{"created a"},
		},
		{
			name:   "a file is written",
			before: func(t *testing.T, dir string) { write(t, in(dir, "a"), "1") },
			do:     func(t *testing.T, dir string) { write(t, in(dir, "a"), "2") },
			want:   []string{"modified a"},
		},
		{
			name:   "metadata",
			before: func(t *testing.T, dir string) { write(t, in(dir, "a"), "1") },
			do:     func(t *testing.T, dir string) { must(t, os.Chmod(in(dir, "a"), 0o755)) },
			want:   []string{"modified a"},
		},
		{
			name: "metadata of the root",
			do:   func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o755)) },
			want: []string{"modified ."},
		},
		{
			name: "made and removed",
			do: func(t *testing.T, dir string) {
				write(t, in(dir, "a"), "1")
				must(t, os.Remove(in(dir, "a")))
			},
			want: []string{"removed a"},
		},
		{
			name:   "removed and made",
			before: func(t *testing.T, dir string) { write(t, in(dir, "a"), "1") },
			do: func(t *testing.T, dir string) {
				must(t, os.Remove(in(dir, "a")))
				write(t, in(dir, "a"), "1")
			},
			want: []string{"created a"},
		},
		{
			name:   "renamed",
			before: func(t *testing.T, dir string) { write(t, in(dir, "b"), "1") },
			do:     func(t *testing.T, dir string) { must(t, os.Rename(in(dir, "b"), in(dir, "a"))) },
			want:   []string{"created a", "removed b"},
		},
		{
			name: "directories with a file at one go",
			do: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "a/b/c"), 0o755))
				write(t, in(dir, "a/b/c/f"), "1")
			},
			want: []string{"created a", "created a/b", "created a/b/c", "created a/b/c/f"},
		},
		{
			name: "deep down",
			before: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "a/b"), 0o755))
			},
			do:   func(t *testing.T, dir string) { write(t, in(dir, "a/b/f"), "1") },
			want: []string{"created a/b/f"},
		},
		{
			name: "a directory with all in it",
			before: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "a/b"), 0o755))
				write(t, in(dir, "a/b/f"), "1")
			},
			do: func(t *testing.T, dir string) {
				write(t, in(dir, "a/b/f"), "2")
				must(t, os.RemoveAll(in(dir, "a")))
			},
			want: []string{"removed a"},
		},
		{
			name: "a directory renamed, and made anew",
			before: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "a/b"), 0o755))
				write(t, in(dir, "a/b/f"), "1")
			},
			do: func(t *testing.T, dir string) {
				must(t, os.Rename(in(dir, "a"), in(dir, "c")))
				must(t, os.Mkdir(in(dir, "a"), 0o755))
				write(t, in(dir, "a/g"), "1")
				write(t, in(dir, "c/b/h"), "1")
			},
			want: []string{"created a", "created a/g", "created c", "created c/b", "created c/b/f", "created c/b/h"},
		},
		{
			name: "a symbolic link to a directory is not followed",
			before: func(t *testing.T, dir string) {
				must(t, os.Mkdir(in(dir, "a"), 0o755))
			},
			exclude: []string{"a"},
			do: func(t *testing.T, dir string) {
				must(t, os.Symlink("a", in(dir, "l")))
				write(t, in(dir, "a/f"), "1")
			},
			want: []string{"created l"},
		},
		{
			name:   "only the directory itself",
			flat:   true,
			before: func(t *testing.T, dir string) { must(t, os.Mkdir(in(dir, "a"), 0o755)) },
			do: func(t *testing.T, dir string) {
				write(t, in(dir, "a/f"), "1")
				must(t, os.MkdirAll(in(dir, "b/c"), 0o755))
			},
			want: []string{"created b"},
		},
		{
			name:    "chosen files",
			include: []string{"*.go"},
			exclude: []string{"vendor"},
			before: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "vendor"), 0o755))
				must(t, os.MkdirAll(in(dir, "a/b"), 0o755))
			},
			do: func(t *testing.T, dir string) {
				must(t, os.Mkdir(in(dir, "c"), 0o755))
				write(t, in(dir, "a/b/x.go"), "1")
				write(t, in(dir, "a/b/x.o"), "1")
				write(t, in(dir, "vendor/x.go"), "1")
			},
			want: []string{"created a/b/x.go"},
		},
		{
			name:    "a directory with chosen files goes",
			include: []string{"*.go"},
			before: func(t *testing.T, dir string) {
				must(t, os.MkdirAll(in(dir, "a/b"), 0o755))
				write(t, in(dir, "a/b/x.go"), "1")
			},
			do: func(t *testing.T, dir string) {
				must(t, os.Rename(in(dir, "a"), in(dir, "c")))
			},
			want: []string{"removed a", "created c/b/x.go"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.before != nil {
				test.before(t, dir)
			}
			c := connect(t, new(Budget))
			_, begin, err := c.Watch(t.Context(), &protocol.WatchParams{
				WatchID: "w", Path: uri(t, dir), Recursive: !test.flat,
				Include: withMarkers(test.include), Exclude: test.exclude,
			})
			must(t, err)
			test.do(t, dir)
			c.gather(c.mark(dir))
			begin() // so that all is one notification
			h := c.until(dir)
			if diff := cmp.Diff(test.want, h.changes); diff != "" || h.rescan || h.ended != "" {
				t.Errorf("told otherwise (rescan %v, ended %q):\n%s", h.rescan, h.ended, diff)
			}
		})
	}
}

// gather waits until a change is about to be told.
func (c *client) gather(path string) {
	c.t.Helper()
	c.mu.Lock()
	o := c.watches["w"].out
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		o.mu.Lock()
		_, ok := o.changes[path]
		o.mu.Unlock()
		if ok {
			return
		}
		if !pause(ctx, time.Millisecond) {
			c.t.Fatalf("%s does not change", path)
		}
	}
}

// withMarkers lets markers be told of where only some files are.
func withMarkers(include []string) []string {
	if include == nil {
		return nil
	}
	return append(include, "~*")
}
