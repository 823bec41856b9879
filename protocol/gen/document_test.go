package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// document returns docs/protocol.md.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", docs+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestDocumentIsWhole asserts that docs/protocol.md has a heading for every method,
// and speaks of every member, value and feature.
func TestDocumentIsWhole(t *testing.T) {
	t.Parallel()
	text := document(t)
	inCode := map[string]bool{}
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "")
	for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(prose, -1) {
		for _, words := range []string{`[A-Za-z0-9]+`, `[A-Za-z0-9_-]+`} {
			for _, word := range regexp.MustCompile(words).FindAllString(code, -1) {
				inCode[word] = true
			}
		}
	}
	for _, m := range protocol.Contract() {
		if !strings.Contains(text, "\n### `"+m.Method+"`\n") {
			t.Errorf("docs/protocol.md has no section on %s", m.Method)
		}
		if m.Feature != "" && !inCode[m.Feature] {
			t.Errorf("docs/protocol.md does not speak of the feature %s", m.Feature)
		}
	}
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		for _, value := range protocol.Variants(typ) {
			if !inCode[value] {
				t.Errorf("docs/protocol.md does not speak of %s, a %s", value, typ)
			}
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(typ.Elem())
		case reflect.Map:
			look(typ.Key())
			look(typ.Elem())
		case reflect.Struct:
			members, _ := protocol.Members(typ)
			for _, m := range members {
				if !inCode[m.Name] {
					t.Errorf("docs/protocol.md does not speak of %s, a member of %s", m.Name, typ)
				}
				look(m.Field.Type)
			}
		default:
		}
	}
	for _, p := range payloads() {
		look(p.Type)
	}
	notes, err := readNotes("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{"EndReason", "ErrorKind", "LimitMechanism", "ProcessState"} {
		for _, c := range notes.named[open] {
			if !inCode[c.value] && !strings.Contains(text, "*"+c.value+"*") {
				t.Errorf("docs/protocol.md does not speak of %s, a %s", c.value, open)
			}
		}
	}
}

// TestLinks asserts that links within docs/protocol.md go to headings that there are,
// and others to files.
func TestLinks(t *testing.T) {
	t.Parallel()
	text := document(t)
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		if anchor, within := strings.CutPrefix(link[1], "#"); within {
			if !anchors[anchor] {
				t.Errorf("docs/protocol.md: there is no heading for %s", link[1])
			}
		} else if _, err := os.Stat(filepath.Join("..", "..", "docs", link[1])); err != nil {
			t.Errorf("docs/protocol.md: %v", err)
		}
	}
}
