package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBlocksFloor(t *testing.T) {
	f, err := newFixtures()
	if err != nil {
		t.Fatal(err)
	}
	defer f.remove()
	size := quick
	size.blocks, size.fixtures = 6, f
	if s, err := bareBlocks(t.Context(), size); err != nil || s["read"] <= 0 || s["write"] <= 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// A block that is another one is no block.
func TestReadBlocks(t *testing.T) {
	data := bytes.Repeat([]byte("ab"), blockBytes)
	encoded := encodeBlocks(data)
	if len(encoded) != 2 {
		t.Fatalf("%d blocks, want 2", len(encoded))
	}
	answers := func(chunks ...[]byte) *client {
		messages := []string{`{"id":1,"result":{}}`}
		for i, chunk := range chunks {
			messages = append(messages, fmt.Sprintf(`{"id":%d,"result":{"chunk":"%s","eof":false}}`, i+2, chunk))
		}
		return scriptedClient(append(messages, fmt.Sprintf(`{"id":%d,"result":{}}`, len(chunks)+2))...)
	}
	if rate, err := readBlocks(answers(encoded[0], encoded[1], encoded[0]), "/f", encoded, 3); err != nil || rate <= 0 {
		t.Errorf("%v, %v", rate, err)
	}
	other := []byte(base64.StdEncoding.EncodeToString([]byte("other")))
	if _, err := readBlocks(answers(encoded[0], other), "/f", encoded, 2); err == nil || !strings.Contains(err.Error(), "block 1") {
		t.Errorf("another block: error %v", err)
	}
}

func TestSameFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sameFile(path, []byte("abc")); err != nil {
		t.Error(err)
	}
	if err := sameFile(path, []byte("abd")); err == nil {
		t.Error("another content is taken for the same")
	}
}
