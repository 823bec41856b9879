package search

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
}

func (s scope) ignored(rel string, dir bool) bool { return s.chain.Ignored(s.prefix+rel, dir) }

// below adds the files in a directory.
func (s scope) below(rel string, files [][]byte) scope {
	dir := strings.TrimSuffix(s.prefix+rel, "/")
	s.chain = s.chain.Below(dir, ignore.Parse(files...))
	return s
}

// readRules reads the ignore files that have been found in the directory.
func (l *listing) readRules(s *search, read []fs.DirEntry) {
	var files [len(ruleFiles)][]byte
	found := false
	for _, e := range read {
		i := slices.Index(ruleFiles[:], e.Name())
		if i < 0 || !e.Type().IsRegular() {
			continue
		}
		data, err := readRuleFile(filepath.Join(s.native(l.rel), e.Name()))
		if err != nil {
			l.fail(join(l.rel, e.Name()), problem(err))
		}
		files[i], found = data, true
	}
	if found {
		l.rules = l.rules.below(l.rel, files[:])
	}
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
			files[i], _ = readRuleFile(filepath.Join(dir, name))
		}
		s.chain = s.chain.Below(below(top, dir), ignore.Parse(files[:]...))
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

// readRuleFile reads an ignore file, if it is not too large.
func readRuleFile(path string) ([]byte, error) {
	f, err := openFile(path, false)
	if err != nil {
		return nil, err
	}
	defer f.close()
	var data []byte
	for {
		data = slices.Grow(data, 4<<10)
		n, err := f.readAt(data[len(data):cap(data)], int64(len(data)))
		data = data[:len(data)+n]
		switch {
		case len(data) > limits.IgnoreFileBytes:
			return nil, fmt.Errorf("is longer than %d bytes, and has not been followed", limits.IgnoreFileBytes)
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
