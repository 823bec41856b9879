//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// What is to show that a sandbox confines fails without one.
func TestMustNotWrite(t *testing.T) {
	size := sizes{fixtures: &fixtures{dir: t.TempDir()}}
	argv := mustNotWrite(size)
	if err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Run(); err == nil {
		t.Error("it says that it could not write")
	}
	if _, err := os.Stat(argv[len(argv)-1]); err != nil {
		t.Error(err)
	}
	size.fixtures.dir += "/missing"
	argv = mustNotWrite(size)
	if err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Run(); err != nil {
		t.Errorf("it could not write, and says %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	got, err := json.Marshal(readOnly())
	const want = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` +
		`{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}]},"network":"restricted"},` +
		`"cwd":"file:///","windowsSandboxLevel":"disabled"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	write := workspaceWrite("/w")
	write.deny("/w/x y")
	got, err = json.Marshal(write)
	const more = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` +
		`{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},` +
		`{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"},` +
		`{"path":{"type":"path","path":"file:///w/x%20y"},"access":"deny"}]},"network":"restricted"},` +
		`"cwd":"file:///","workspaceRoots":["file:///w"],"windowsSandboxLevel":"disabled"}`
	if err != nil || string(got) != more {
		t.Errorf("got %s, %v", got, err)
	}
	// None is no member at all.
	if got, err := json.Marshal(startParams{}); err != nil || string(got) != `{"processId":"","argv":null,"cwd":"","env":null,"tty":false}` {
		t.Errorf("unconfined: %s, %v", got, err)
	}
}

// Paced starts keep their distance, and both kinds are run equally often.
func TestTimeAdded(t *testing.T) {
	const distance = 5 * time.Millisecond
	var plain, confined int
	begin := time.Now()
	s, err := timeAdded(t.Context(), 4, distance,
		func() error { plain++; return nil }, func() error { confined++; return nil })
	if err != nil || plain != warmUps+4 || confined != plain || s["p50"] < 0 {
		t.Errorf("%v, %v after %d and %d", s, err, plain, confined)
	}
	if took := time.Since(begin); took < time.Duration(plain)*distance {
		t.Errorf("%d paced starts in %v", plain, took)
	}
}
