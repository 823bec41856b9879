// Command gen writes docs/protocol: the JSON Schema and the OpenRPC description of
// package protocol, from its types, their tags and their comments. `go generate
// ./protocol` runs it.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// docs is where the files belong, as seen from the folder of package protocol.
const docs = "../docs/protocol"

func main() {
	if err := write("."); err != nil {
		fmt.Fprintf(os.Stderr, "gen: %v\nRun it with `go generate ./protocol`.\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// write generates the files from the package in a folder.
func write(folder string) error {
	files, err := generate(folder)
	if err != nil {
		return err
	}
	target := filepath.Join(folder, docs)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(target, name), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the files by name. They are the same each time.
func generate(folder string) (map[string][]byte, error) {
	notes, err := readNotes(folder)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, document := range map[string]object{
		"schema.json":  schemaDocument(notes),
		"openrpc.json": openrpcDocument(notes),
	} {
		text, err := json.Marshal(document, jsontext.WithIndent("  "))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = append(text, '\n')
	}
	return files, nil
}
