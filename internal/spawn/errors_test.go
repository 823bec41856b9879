//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// install makes an executable script (or, with another mode, another file).
func install(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	install(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o600)
	install(t, filepath.Join(dir, "noshebang"), "echo hi\n", 0o700)
	install(t, filepath.Join(dir, "badshebang"), "#!/nonexistent/interpreter\n", 0o700)
	install(t, filepath.Join(dir, "folder", "inner"), "", 0o600)

	const (
		missing   = "No such file or directory (os error 2)"
		notFolder = "Not a directory (os error 20)"
		denied    = "Permission denied (os error 13)"
		tooLong   = "Argument list too long (os error 7)"
		nulArgs   = "nul byte found in provided data"
	)
	nul := "a\x00b"
	long := strings.Repeat("x", 1<<20)
	tests := []struct {
		name    string
		argv    []string
		change  func(*Command)
		kind    Kind
		text    string
		textTTY string // if different
	}{
		{name: "absolute program missing", argv: []string{"/nonexistent/x"}, kind: NotFound, text: missing},
		{name: "relative program missing", argv: []string{"./x"}, kind: NotFound, text: missing},
		{name: "bare name not on PATH", argv: []string{"no-such-program"}, kind: NotFound, text: missing},
		{name: "directory missing", argv: []string{"/bin/true"}, change: func(c *Command) { c.Dir = dir + "/no" }, kind: NotFound, text: missing},
		{name: "directory missing, bare name", argv: []string{"true"}, change: func(c *Command) { c.Dir = dir + "/no" }, kind: NotFound, text: missing},
		{name: "directory is a file", argv: []string{"/bin/true"}, change: func(c *Command) { c.Dir = dir + "/plain" }, text: notFolder},
		{name: "directory is a file, bare name", argv: []string{"true"}, change: func(c *Command) { c.Dir = dir + "/plain" }, text: notFolder},
		{name: "directory is a file, no such program", argv: []string{"no-such-program"}, change: func(c *Command) { c.Dir = dir + "/plain" }, text: notFolder},
		{name: "not executable", argv: []string{"./plain"}, kind: PermissionDenied, text: denied},
		{name: "a folder", argv: []string{"./folder"}, kind: PermissionDenied, text: denied},
		{name: "below a file", argv: []string{"./plain/x"}, text: notFolder},
		{name: "no interpreter named", argv: []string{"./noshebang"}, text: "Exec format error (os error 8)"},
		{name: "interpreter missing", argv: []string{"./badshebang"}, kind: NotFound, text: missing},
		{name: "name too long", argv: []string{"./" + long[:300]}, text: "File name too long (os error 36)"},
		{name: "bare name too long", argv: []string{long[:300]}, text: "File name too long (os error 36)"},
		{name: "empty program", argv: []string{""}, text: "missing program for pipe spawn", textTTY: "missing program for PTY spawn"},
		{name: "no program", text: "missing program for pipe spawn", textTTY: "missing program for PTY spawn"},
		{name: "NUL in program", argv: []string{nul}, text: nulArgs},
		{name: "NUL in argument", argv: []string{"/bin/true", nul}, text: nulArgs},
		{name: "NUL in arg0", argv: []string{"/bin/true"}, change: func(c *Command) { c.Arg0 = &nul }, text: nulArgs},
		{name: "NUL in directory", argv: []string{"/bin/true"}, change: func(c *Command) { c.Dir = nul }, text: nulArgs},
		{name: "NUL in environment", argv: []string{"/bin/true"}, change: func(c *Command) { c.Env = []string{"A=" + nul} }, text: "data provided contains a nul byte"},
		{name: "argument too long", argv: []string{"/bin/true", long}, text: tooLong},
		{name: "variable too long", argv: []string{"/bin/true"}, change: func(c *Command) { c.Env = []string{"A=" + long} }, text: tooLong},
		{name: "arguments too long in all", argv: append([]string{"/bin/true"}, strings.Split(strings.Repeat(long[:100000]+" ", 100), " ")...), text: tooLong},
	}
	for _, test := range tests {
		for _, tty := range []bool{false, true} {
			name, want := test.name, test.text
			if tty {
				name += ", tty"
				if test.textTTY != "" {
					want = test.textTTY
				}
			}
			t.Run(name, func(t *testing.T) {
				cmd := &Command{Argv: test.argv, Dir: dir, Env: testEnv}
				if tty {
					onTerminal(cmd)
				}
				if test.change != nil {
					test.change(cmd)
				}
				p, err := startFor(s, cmd, newRecord())
				if err == nil {
					p.Kill()
					t.Fatal("no error")
				}
				e, ok := errors.AsType[*Error](err)
				if !ok {
					t.Fatalf("error of type %T", err)
				}
				if e.Kind != test.kind || e.Error() != want {
					t.Errorf("kind %d, %q; want %d, %q", e.Kind, e, test.kind, want)
				}
			})
		}
	}
	_, err := startFor(s, &Command{Argv: []string{"/nonexistent/x"}, Dir: dir}, newRecord())
	if !errors.Is(err, syscall.ENOENT) {
		t.Errorf("errors.Is(%v, ENOENT) = false", err)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	hello := func(text string) string { return "#!/bin/sh\necho " + text + "\n" }
	install(t, dir+"/here", hello("here"), 0o700)
	install(t, dir+"/a/prog", hello("a"), 0o700)
	install(t, dir+"/b/prog", hello("b"), 0o700)
	install(t, dir+"/denied/prog", hello("denied"), 0o600)
	install(t, dir+"/denied/only", hello("denied"), 0o600)
	install(t, dir+"/folder/prog/x", "", 0o600)
	install(t, dir+"/broken/prog", "#!/nonexistent/interpreter\n", 0o700)
	install(t, dir+"/format/prog", "echo hi\n", 0o700)
	install(t, dir+"/file", "", 0o600)

	tests := []struct {
		name, program string
		env           []string
		want          string // output or error
	}{
		{"absolute", dir + "/a/prog", nil, "a"},
		{"with a separator: relative to the directory, not on PATH", "a/prog", []string{"PATH=" + dir + "/b"}, "a"},
		{"with a leading dot", "./here", []string{"PATH="}, "here"},
		{"first folder", "prog", []string{"PATH=" + dir + "/a:" + dir + "/b"}, "a"},
		{"second folder", "prog", []string{"PATH=" + dir + "/no:" + dir + "/b"}, "b"},
		{"first PATH counts", "prog", []string{"PATH=" + dir + "/b", "PATH=" + dir + "/a"}, "b"},
		{"PATH of other case does not count", "prog", []string{"Path=" + dir + "/b", "PATH=" + dir + "/a"}, "a"},
		{"no PATH: the default", "true", nil, ""},
		{"no PATH: not the directory", "here", nil, "No such file or directory (os error 2)"},
		{"empty PATH: the directory", "here", []string{"PATH="}, "here"},
		{"empty PATH: nothing else", "true", []string{"PATH="}, "No such file or directory (os error 2)"},
		{"empty element first", "here", []string{"PATH=:/bin"}, "here"},
		{"empty element last", "here", []string{"PATH=/bin:"}, "here"},
		{"empty element amid", "here", []string{"PATH=/bin::/usr/bin"}, "here"},
		{"relative element", "prog", []string{"PATH=b:/bin"}, "b"},
		{"relative element .", "here", []string{"PATH=."}, "here"},
		{"not executable: goes on", "prog", []string{"PATH=denied:b"}, "b"},
		{"folder: goes on", "prog", []string{"PATH=folder:b"}, "b"},
		{"below a file: goes on", "prog", []string{"PATH=file:b"}, "b"},
		{"interpreter missing: goes on", "prog", []string{"PATH=broken:b"}, "b"},
		{"not executable is remembered", "only", []string{"PATH=denied:a:b"}, "Permission denied (os error 13)"},
		{"unknown format ends the search", "prog", []string{"PATH=format:b"}, "Exec format error (os error 8)"},
	}
	for _, test := range tests {
		for _, tty := range []bool{false, true} {
			cmd := &Command{Argv: []string{test.program}, Dir: dir, Env: test.env}
			if tty {
				onTerminal(cmd)
			}
			r := newRecord()
			var got string
			if _, err := startFor(s, cmd, r); err != nil {
				got = err.Error()
			} else {
				<-r.closed
				got = strings.TrimSpace(r.text(Stdout) + r.text(Terminal))
			}
			if got != test.want {
				t.Errorf("%s (tty %v): got %q, want %q", test.name, tty, got, test.want)
			}
		}
	}
}

// A file that has just been written can be executed although other processes
// are being started at that moment, which hold copies of all descriptors until
// they have executed their program.
func TestRunsWhatWasJustWritten(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				path := filepath.Join(dir, fmt.Sprint(worker, "-", i))
				if err := os.WriteFile(path, []byte("#!/bin/true\n"), 0o700); err != nil {
					t.Error(err)
					return
				}
				r := newRecord()
				if _, err := startFor(s, &Command{Argv: []string{path}, Dir: "/"}, r); err != nil {
					t.Error(err)
					return
				}
				<-r.closed
			}
		})
	}
	all.Wait()
}

// A file that stays open for writing is refused.
func TestRefusesBusyFile(t *testing.T) {
	t.Parallel()
	s := newSpawner(t)
	path := filepath.Join(t.TempDir(), "busy")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = startFor(s, &Command{Argv: []string{path}, Dir: "/"}, newRecord())
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Failed || e.Error() != "Text file busy (os error 26)" {
		t.Errorf("error %v, want Text file busy (os error 26)", err)
	}
}
