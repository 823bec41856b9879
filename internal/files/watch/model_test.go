package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/internal/files/glob"
	"github.com/airlock-exec/airlock/protocol"
)

// belief is what a client believes is in a directory that applies all that it is
// told, and looks itself when it is told to.
type belief struct {
	paths  map[string]bool
	filter *glob.Filter
}

func (b *belief) rescan(dir string) {
	clear(b.paths)
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		if err == nil && rel != "." && b.filter.Match(rel) {
			b.paths[rel] = true
		}
		return nil
	})
}

func (b *belief) apply(rel string, kind protocol.ChangeKind) {
	if kind != protocol.ChangeModified {
		for path := range b.paths {
			if path == rel || strings.HasPrefix(path, rel+"/") {
				delete(b.paths, path)
			}
		}
	}
	if kind != protocol.ChangeRemoved && rel != "." && b.filter.Match(rel) {
		b.paths[rel] = true
	}
}

// TestBelief: whatever is done to a tree, a client that goes by what it is told ends
// up believing what is there.
func TestBelief(t *testing.T) {
	t.Parallel()
	budget := new(Budget)
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		c := connect(t, budget)
		defer c.disconnect()
		if rapid.Bool().Draw(rt, "cramped") {
			c.pending = 20 * changeBytes
		}
		p := protocol.WatchParams{WatchID: "w", Path: uri(t, dir), Recursive: true}
		if rapid.Bool().Draw(rt, "chosen") {
			p.Include, p.Exclude = []string{"*b", "~*"}, []string{"c/"}
		}
		filter, err := glob.Compile(p.Include, p.Exclude)
		must(t, err)
		for range rapid.IntRange(0, 10).Draw(rt, "before") {
			meddle(rt, dir)
		}
		c.watch(p)
		b := belief{paths: map[string]bool{}, filter: filter}
		b.rescan(dir)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				meddle(rt, dir)
			}
			c.settle(dir, &b)
			want := belief{paths: map[string]bool{}, filter: filter}
			want.rescan(dir)
			if diff := cmp.Diff(want.paths, b.paths); diff != "" {
				rt.Fatalf("the client believes otherwise:\n%s", diff)
			}
		}
	})
}

// settle takes what is told up to a marker and applies it.
func (c *client) settle(dir string, b *belief) {
	marker := c.mark(dir)
	for done := false; !done; {
		n := c.next()
		if n.Rescan {
			b.rescan(dir)
			marker = c.mark(dir)
		}
		for _, change := range n.Changes {
			rel := below(c.t, dir, change.Path)
			b.apply(rel, change.Kind)
			done = done || rel == marker
		}
		if n.Ended != nil {
			c.t.Fatal(*n.Ended)
		}
	}
}

// meddle does something to a tree. It may fail.
func meddle(rt *rapid.T, dir string) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "ab"})
	path := rapid.Custom(func(rt *rapid.T) string {
		parts := rapid.SliceOfN(name, 1, 4).Draw(rt, "path")
		return filepath.Join(append([]string{dir}, parts...)...)
	})
	at := path.Draw(rt, "at")
	switch rapid.IntRange(0, 7).Draw(rt, "what") {
	case 0, 1:
		_ = os.MkdirAll(at, 0o755)
	case 2:
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, []byte("1"), 0o600)
	case 3:
		_ = os.WriteFile(at, []byte("2"), 0o600)
	case 4:
		_ = os.Rename(at, path.Draw(rt, "to"))
	case 5:
		_ = os.RemoveAll(at)
	case 6:
		_ = os.Symlink(path.Draw(rt, "to"), at)
	case 7:
		_ = os.Chmod(at, 0o700)
	}
}
