package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

// generated returns the files as they should be.
func generated(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGenerated asserts that docs/protocol is what package protocol says.
func TestGenerated(t *testing.T) {
	t.Parallel()
	files := generated(t)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", docs, name))
		if err != nil {
			t.Fatal(err)
		}
		// A checkout on Windows may have line ends of its own.
		got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n"))
		if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(string(want), "\n")); diff != "" {
			t.Errorf("docs/protocol/%s is not what package protocol says (-there +should be). "+
				"`go generate ./protocol` writes it anew; look at the difference:\n%s", name, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join("..", docs))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if files[entry.Name()] == nil {
			t.Errorf("docs/protocol/%s is not generated, and does not belong there", entry.Name())
		}
	}
	for name, again := range generated(t) {
		if !bytes.Equal(again, files[name]) {
			t.Errorf("%s comes out differently each time", name)
		}
	}
}

// TestWrite asserts that what the command writes is what it generates.
func TestWrite(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "protocol")
	if err := os.CopyFS(folder, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	if err := write(folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range generated(t) {
		got, err := os.ReadFile(filepath.Join(folder, docs, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not as generated (%v)", name, err)
		}
	}
	if err := write(t.TempDir()); err == nil {
		t.Error("a folder without package protocol is no error")
	}
	if err := write("."); err == nil {
		t.Error("a folder with another package is no error")
	}
}

// TestOpenRPC asserts what tools rely on: references point somewhere, every method
// has an entry with the members of its direction, codes are told once.
func TestOpenRPC(t *testing.T) {
	t.Parallel()
	v := &validator{root: parse(generated(t)["openrpc.json"]).(map[string]any)}
	methods := v.root["methods"].([]any)
	contract := protocol.Contract()
	if len(methods) != len(contract) {
		t.Fatalf("there are %d methods, want %d", len(methods), len(contract))
	}
	for i, m := range contract {
		method := methods[i].(map[string]any)
		if method["name"] != m.Method || method["summary"] != m.Summary {
			t.Errorf("method %d is %v, want %s", i, method["name"], m.Method)
		}
		if _, found := method["result"]; found == m.IsNotification() || method["x-notification"] != m.IsNotification() {
			t.Errorf("%s: a request has a result, a notification has none", m.Method)
		}
		members, _ := protocol.Members(m.Params.Type)
		params := method["params"].([]any)
		if len(params) != len(members) {
			t.Errorf("%s has %d parameters, want %d", m.Method, len(params), len(members))
		}
		for j, p := range params {
			p := p.(map[string]any)
			if p["name"] != members[j].Name || p["required"] != members[j].Required {
				t.Errorf("%s: parameter %d is %v, want %s", m.Method, j, p, members[j].Name)
			}
		}
		codes := map[any]bool{}
		failures, _ := method["errors"].([]any)
		for _, f := range failures {
			code := f.(map[string]any)["code"]
			if codes[code] {
				t.Errorf("%s: code %v is there twice", m.Method, code)
			}
			codes[code] = true
		}
	}
	walk(v.root, func(o map[string]any) {
		if reference, ok := o["$ref"].(string); ok {
			v.resolve(reference) // panics
		}
	})
}

// TestDescribed asserts that every definition says what it is, without traces of
// Go.
func TestDescribed(t *testing.T) {
	t.Parallel()
	root := parse(generated(t)["schema.json"]).(map[string]any)
	for name, definition := range root["$defs"].(map[string]any) {
		if text, _ := definition.(map[string]any)["description"].(string); text == "" {
			t.Errorf("%s has no description: give the type a comment", name)
		}
	}
	var fields []string
	for _, m := range protocol.Contract() {
		members, _ := protocol.Members(m.Params.Type)
		for _, f := range members {
			fields = append(fields, f.Field.Name)
		}
	}
	walk(root, func(o map[string]any) {
		text, _ := o["description"].(string)
		for _, trace := range slices.Concat(fields, []string{"nil", "jsontext"}) {
			// Fields with the name of a type, or of an ordinary word, are judged in review.
			if len(strings.Fields(trace)) == 1 && camel(trace) && slices.Contains(strings.Fields(text), trace) &&
				root["$defs"].(map[string]any)[trace] == nil {
				t.Errorf("a description speaks of %s: %s", trace, text)
			}
		}
	})
}

// camel tells whether a name is no ordinary word.
func camel(name string) bool {
	return strings.ToLower(name[1:]) != name[1:] || strings.ToLower(name) == name
}

// walk visits every object of a document.
func walk(value any, visit func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		visit(value)
		for _, v := range value {
			walk(v, visit)
		}
	case []any:
		for _, v := range value {
			walk(v, visit)
		}
	}
}

// payloads are all types of parameters and results, once each, and errors.
func payloads() []protocol.Payload {
	all := []protocol.Payload{{
		Type:   reflect.TypeFor[protocol.Error](),
		Decode: func(raw []byte) (any, error) { return protocol.Decode[protocol.Error](raw) },
	}}
	add := func(p protocol.Payload) {
		if p.Type != nil && !slices.ContainsFunc(all, func(q protocol.Payload) bool { return q.Type == p.Type }) {
			all = append(all, p)
		}
	}
	for _, m := range protocol.Contract() {
		add(m.Params)
		add(m.Result)
	}
	return all
}
