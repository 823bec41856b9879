package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// notes are the comments of package protocol, and its constants.
type notes struct {
	comments map[string]string     // by Type or Type.Field
	values   map[string]string     // of string constants, by name
	named    map[string][]constant // by the type that they have
	wire     map[string]string     // names on the wire, by Field
}

type constant struct{ name, value, comment string }

// readNotes parses the package in a folder.
func readNotes(folder string) (*notes, error) {
	n := &notes{
		comments: map[string]string{}, values: map[string]string{},
		named: map[string][]constant{}, wire: map[string]string{},
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name != "protocol" {
			return nil, fmt.Errorf("%s belongs to package %s, not to package protocol", name, file.Name.Name)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				n.declaration(d)
			}
		}
	}
	if len(n.comments) == 0 {
		return nil, fmt.Errorf("there are no types in %s", folder)
	}
	return n, nil
}

func (n *notes) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			n.comments[spec.Name.Name] = doc.Text()
			if s, ok := spec.Type.(*ast.StructType); ok {
				n.fields(spec.Name.Name, s)
			}
		case *ast.ValueSpec:
			if d.Tok == token.CONST && len(spec.Values) == 1 {
				n.constant(spec, d.Doc)
			}
		}
	}
}

// fields notes the comment of each field, above it or behind it.
func (n *notes) fields(owner string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		doc := f.Doc
		if doc == nil {
			doc = f.Comment
		}
		for _, name := range f.Names {
			n.comments[owner+"."+name.Name] = doc.Text()
			if f.Tag == nil {
				continue
			}
			tag, _ := strconv.Unquote(f.Tag.Value) // the parser has checked it
			if wire, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); wire != "" {
				n.wire[name.Name] = wire
			}
		}
	}
}

// constant notes a constant. The comment of a declaration with one constant is
// about that.
func (n *notes) constant(spec *ast.ValueSpec, declaration *ast.CommentGroup) {
	var value string
	switch v := spec.Values[0].(type) {
	case *ast.BasicLit:
		value = v.Value
	case *ast.UnaryExpr:
		if number, ok := v.X.(*ast.BasicLit); ok {
			value = v.Op.String() + number.Value
		}
	}
	if text, err := strconv.Unquote(value); err == nil {
		value = text
		n.values[spec.Names[0].Name] = text
	}
	owner, typed := spec.Type.(*ast.Ident)
	if !typed || value == "" {
		return
	}
	doc := spec.Doc
	if doc == nil {
		doc = spec.Comment
	}
	if doc == nil && declaration != nil && len(n.named[owner.Name]) == 0 {
		_, rest, found := strings.Cut(declaration.Text(), spec.Names[0].Name+" ")
		if found {
			n.named[owner.Name] = []constant{{value: value, comment: "this " + rest}}
			return
		}
	}
	n.named[owner.Name] = append(n.named[owner.Name], constant{spec.Names[0].Name, value, doc.Text()})
}

// about returns what the comment of a type says, and what its constants are.
func (n *notes) about(t reflect.Type) string {
	text := n.plain(t, n.comments[t.Name()])
	var values []string
	for _, c := range n.named[t.Name()] {
		line := "- `" + c.value + "`"
		// Some comments are "Name: what it means".
		if comment := strings.TrimPrefix(c.comment, c.name+": "); comment != "" {
			line += ": " + n.plain(t, comment)
		}
		values = append(values, line)
	}
	if len(values) == 0 {
		return text
	}
	return text + "\n\n" + strings.Join(values, "\n")
}

// field returns what the comment of a field says.
func (n *notes) field(owner reflect.Type, f reflect.StructField) string {
	return n.plain(owner, n.comments[owner.Name()+"."+f.Name])
}

var (
	link = regexp.MustCompile(`\[([A-Za-z][A-Za-z.]*)\]`)
	// word finds names of fields, with the type before the dot.
	word      = regexp.MustCompile("`[^`]*`|(?:[A-Z][A-Za-z]*\\.)?[A-Za-z][A-Za-z0-9]*")
	lineBreak = regexp.MustCompile(`([^\n])\n([^\n])`)
	nothing   = regexp.MustCompile(`\b[Nn]il\b`)
)

// plain rewrites a comment for readers who do not know Go: links become what they
// stand for, fields have their names on the wire, nil is null. A field is known by
// its name if it belongs to the owner, or if there are capitals inside the name.
func (n *notes) plain(owner reflect.Type, text string) string {
	text = lineBreak.ReplaceAllString(strings.TrimSpace(text), "$1 $2")
	text = link.ReplaceAllStringFunc(text, func(s string) string {
		name := s[1 : len(s)-1]
		if value, found := n.values[name]; found {
			name = value
		}
		return "`" + n.dotted(name) + "`"
	})
	first := true
	text = word.ReplaceAllStringFunc(text, func(s string) string {
		atStart := first
		first = false
		if s[0] == '`' {
			return s
		}
		if dotted := n.dotted(s); dotted != s {
			return "`" + dotted + "`"
		}
		wire, found := n.wire[s]
		_, own := n.comments[owner.Name()+"."+s]
		_, isType := n.comments[s]
		camel := !isType && strings.ToLower(s[1:]) != s[1:] && strings.ToUpper(s) != s
		// Airlock is also the name of this program.
		if found && (camel || own && (atStart || s != "Airlock")) {
			return "`" + wire + "`"
		}
		return s
	})
	return nothing.ReplaceAllString(text, "null")
}

// dotted puts the name on the wire into Type.Field.
func (n *notes) dotted(name string) string {
	owner, field, found := strings.Cut(name, ".")
	if _, known := n.comments[name]; !found || !known || n.wire[field] == "" {
		return name
	}
	return owner + "." + n.wire[field]
}
