package search

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/internal/files/search/ignore"
	"github.com/airlock-exec/airlock/internal/limits"
)

// ruleFiles are the names of files that say what is to be left out, the weakest
// first.
var ruleFiles = [...]string{".gitignore", ".ignore"}

// scope is what ignore files say in a directory. They may lie above the root.
type scope struct {
	chain  *ignore.Chain
	prefix string // the path of the root below the top, with a slash, or ""
	size   int    // of all the files, in bytes
}

func (s scope) ignored(rel string, dir bool) bool { return s.chain.Ignored(s.prefix+rel, dir) }

// note says what could not be looked at.
type note struct{ path, text string }

// below returns what ignore files say in a directory below, and what is wrong with
// those in it.
func (s scope) below(search *search, l *listing) (scope, []note) {
	if !search.ignoreFiles || l.hasRules == [len(ruleFiles)]bool{} {
		return s, nil
	}
	var files [len(ruleFiles)][]byte
	var wrong []note
	for i, name := range ruleFiles {
		if !l.hasRules[i] {
			continue
		}
		path := join(l.rel, name)
		data, err := readRules(search.native(path), limits.IgnoreBytes-s.size)
		if err != nil {
			wrong = append(wrong, note{path, problem(err)})
		}
		files[i] = data
		s.size += len(data)
	}
	return s.with(strings.TrimSuffix(s.prefix+l.rel, "/"), files[:]), wrong
}

// with adds the files in a directory, which is told by its path below the top.
func (s scope) with(dir string, files [][]byte) scope {
	s.chain = s.chain.Below(dir, ignore.Parse(files...))
	return s
}

// readRules reads an ignore file if it has at most so many bytes: as many as those
// above have left, as all of them are matched with each path, and held meanwhile.
func readRules(path string, most int) ([]byte, error) {
	f, err := regular.OpenListed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := f.ReadAll(most)
	if err == regular.ErrTooLarge {
		return nil, fmt.Errorf("has not been followed: with those above it there are more than %d bytes of ignore files", limits.IgnoreBytes)
	}
	return data, err
}

// rootScope returns what is said above the root in the same git repository. What
// can't be read there says nothing: it is not what is searched.
func rootScope(root string) scope {
	if target, err := filepath.EvalSymlinks(root); err == nil {
		root = target
	}
	above := aboveInRepository(root)
	if len(above) == 0 {
		return scope{}
	}
	top := above[len(above)-1]
	var s scope
	for _, dir := range slices.Backward(above) {
		var files [len(ruleFiles)][]byte
		for i, name := range ruleFiles {
			files[i], _ = readRules(filepath.Join(dir, name), limits.IgnoreBytes-s.size)
			s.size += len(files[i])
		}
		s = s.with(below(top, dir), files[:])
	}
	s.prefix = below(top, root) + "/"
	return s
}

// below returns the path of a directory below another one, with slashes.
func below(top, dir string) string {
	rel := filepath.ToSlash(strings.TrimPrefix(dir, top))
	return strings.Trim(rel, "/")
}

// aboveInRepository returns the directories above one that are in the same
// repository, the nearest first. There are none outside of a repository.
func aboveInRepository(dir string) []string {
	var above []string
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return above
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		above = append(above, parent)
		dir = parent
	}
}
