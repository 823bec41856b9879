package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the module's root, as seen from where tests of this package run.
var root = filepath.Join("..", "..")

const modulePath = "github.com/airlock-exec/airlock"

// file is one Go file of the module. All are parsed, whatever system or build
// tag they are for: a rule that holds only on the machine of whoever runs the
// tests is none.
type file struct {
	name string // relative to the root, with slashes
	dir  string // the same for its folder; "." is the root
	test bool
	ast  *ast.File
}

// imports returns the import paths of a file.
func (f *file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// tree parses the module once for all tests.
var tree = sync.OnceValues(func() ([]*file, error) {
	var files []*file
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != root && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		files = append(files, &file{
			name: relative, dir: path.Dir(relative),
			test: strings.HasSuffix(base, "_test.go"), ast: parsed,
		})
		return nil
	})
	return files, err
})

func sources(t *testing.T) []*file {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the module's root is not where it should be: %v", err)
	}
	files, err := tree()
	if err != nil {
		t.Fatalf("parsing the module: %v", err)
	}
	return files
}
