package arch

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// uses returns the names that a file uses of a package.
func uses(f *ast.File, importPath string) []string {
	name := ""
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == importPath {
			name = p[strings.LastIndexByte(p, '/')+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && name != "" {
			if id, ok := selector.X.(*ast.Ident); ok && id.Name == name {
				names = append(names, selector.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// TestPackageComments asserts that every package says what it is for, once.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	type pkg struct {
		name     string
		comments []string // names of the files that have one
	}
	packages := map[string]*pkg{}
	for _, f := range sources(t) {
		name := f.ast.Name.Name
		external := f.test && strings.HasSuffix(name, "_test")
		if external {
			continue
		}
		p := packages[f.dir]
		if p == nil {
			p = &pkg{}
			packages[f.dir] = p
		}
		p.name = name
		if f.ast.Doc == nil {
			continue
		}
		p.comments = append(p.comments, f.name)
		want := "Package " + name + " "
		if name == "main" {
			want = "Command " + f.dir[strings.LastIndexByte(f.dir, '/')+1:] + " "
		}
		if text := f.ast.Doc.Text(); !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment begins with %q; let it begin with %q",
				f.name, firstWords(text), want)
		}
	}
	for dir, p := range packages {
		switch len(p.comments) {
		case 0:
			t.Errorf("package %s (folder %s) has no comment: say in one file, above the package "+
				"clause, what its one job is", p.name, dir)
		case 1:
		default:
			t.Errorf("package %s (folder %s) has %d comments, in %s: keep one", p.name, dir,
				len(p.comments), strings.Join(p.comments, ", "))
		}
	}
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(3, len(words))], " ")
}
