package main

import (
	"errors"
	"fmt"
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
			if err := checkWalk([]byte(`{"entries":[`+entries+`],"errors":[],"truncated":false}`), treeDirs*treeFiles); (err == nil) != ok {
				t.Errorf("%d files: %v", n, err)
			}
		}
	}
	if err := checkWalk([]byte(`null`), 1); err == nil {
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

// An answer to fs/walk names what fits into it by the protocol's reckoning: each
// name, and 64 bytes beside it, within 4 MiB.
func TestListed(t *testing.T) {
	small := tree{"/r", 50, 100, "folder-%02d", "file-%02d.txt"}
	if got := small.listed(); got != 5000 {
		t.Errorf("%d of a small tree, want all 5000", got)
	}
	large := tree{"/tmp/a123456789", 100, 490, "%02d", "%03d"}
	total, files := 100*(len("file:///tmp/a123456789/00")+64), 0
	for total+len("file:///tmp/a123456789/00/000")+64 <= 4<<20 {
		total += len("file:///tmp/a123456789/00/000") + 64
		files++
	}
	if got := large.listed(); got != files || got < 44_000 || got > 46_000 {
		t.Errorf("%d of a large tree, want %d", got, files)
	}
}

// What an answer is checked for does not count, but is checked each time.
func TestTimeAsks(t *testing.T) {
	var messages []string
	for id := range warmUps + 2 {
		messages = append(messages, fmt.Sprintf(`{"id":%d,"result":{}}`, id+1))
	}
	checked := 0
	took, err := timeAsks(2, scriptedClient(messages...), "m", nil, func([]byte) error { checked++; return nil })
	if err != nil || len(took) != 2 || checked != warmUps+2 {
		t.Errorf("%v, checked %d, error %v", took, checked, err)
	}
	if _, err := timeAsks(2, scriptedClient(messages...), "m", nil, func([]byte) error { return errors.New("other") }); err == nil {
		t.Error("took an answer that is not what was asked for")
	}
}
