package main

import (
	"strings"
	"testing"
)

func TestFixtures(t *testing.T) {
	f, err := newFixtures()
	if err != nil {
		t.Fatal(err)
	}
	size := quick
	size.fixtures = f
	if s, err := bareWalk(t.Context(), size); err != nil || s["p50"] <= 0 {
		t.Errorf("walk: %v, %v", s, err)
	}
	if s, err := bareReadFile(t.Context(), size); err != nil || s["rate"] <= 0 {
		t.Errorf("read: %v, %v", s, err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := bareWalk(t.Context(), size); err == nil {
		t.Error("walked a tree that is gone")
	}
}

// A walk that is short of a file is no walk, however it is spelt.
func TestCheckWalk(t *testing.T) {
	for _, entry := range []string{`{"path":"file:///x","kind":"file"}`, `{"kind": "file", "path":"file:///x"}`} {
		for n, ok := range map[int]bool{treeDirs * treeFiles: true, treeDirs*treeFiles - 1: false, 0: false} {
			entries := strings.Repeat(entry+",", n) + `{"path":"file:///d","kind":"directory"}`
			if err := checkWalk([]byte(`{"entries":[` + entries + `],"errors":[],"truncated":false}`)); (err == nil) != ok {
				t.Errorf("%d files: %v", n, err)
			}
		}
	}
	if err := checkWalk([]byte(`null`)); err == nil {
		t.Error("took null")
	}
}

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"/tmp/a b%c": "file:///tmp/a%20b%25c",
		"C:/Temp/x":  "file:///C:/Temp/x",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
