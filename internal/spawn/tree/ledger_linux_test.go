package tree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	helpers["sweep"] = func() {
		for _, record := range os.Args[1:] {
			fmt.Println(Sweep(record))
		}
	}
}

// A user without rights gets whole trees, too, and nothing is left behind.
func TestWithoutRights(t *testing.T) {
	cmd := helperCommand(t, "sweep")
	asNobody(t, cmd)
	d := startDaemon(t, Auto, func(c *exec.Cmd) {
		c.Path, c.ExtraFiles, c.SysProcAttr = cmd.Path, cmd.ExtraFiles, cmd.SysProcAttr
		c.Env = append(c.Env, cmd.Env[len(cmd.Env)-2:]...)
	})
	if len(d.records) != 1 || !strings.HasPrefix(d.records[0], "walk ") {
		t.Fatalf("records %q, want one of walk", d.records)
	}
	// Nobody else may look; the record is enough.
	d.die(t)
	cmd.Args = append(cmd.Args, d.records...)
	out, err := cmd.Output()
	if err != nil || string(out) != "<nil>\n" {
		t.Errorf("%v\n%s", err, out)
	}
	_, path, err := parseRecord(d.records[0])
	if err != nil {
		t.Fatal(err)
	}
	d.expectNothing(t, []string{path})
}

func TestLedger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l, err := newLedger(folder, "test marker")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	read := func() (string, []target, error) {
		content, err := os.ReadFile(l.path)
		if err != nil {
			t.Fatal(err)
		}
		return readLedger(content, 0)
	}
	if marker, targets, err := read(); marker != "test marker" || len(targets) != 0 || err != nil {
		t.Fatalf("%q, %v, %v; want no targets", marker, targets, err)
	}

	const many = 3 * pageBytes / lineBytes
	lines := map[int]*line{}
	for i := 1; i <= many; i++ {
		if lines[i], err = l.take(); err != nil {
			t.Fatal(err)
		}
		l.write(lines[i], target{mark: uint32(i), leader: i, from: 1, to: 2, reaped: 3})
	}
	for i := 1; i <= many; i += 2 {
		l.put(lines[i])
	}
	_, targets, err := read()
	if err != nil || len(targets) != many/2 {
		t.Fatalf("%d targets, %v; want %d", len(targets), err, many/2)
	}
	for _, got := range targets {
		if want := (target{mark: got.mark, leader: int(got.mark), from: 1, to: 2, reaped: 3}); got != want || got.mark%2 != 0 {
			t.Fatalf("target %+v, want %+v with an even mark", got, want)
		}
	}

	// A leader that had not been reaped has kept its number for as long as its
	// parent has lived.
	l.write(lines[2], target{mark: 2, leader: 2, reaped: never})
	_, targets, _ = read()
	for _, got := range targets {
		if got.mark == 2 && (got.reaped == never || got.reaped > ticks() || got.reaped+100 < ticks()) {
			t.Errorf("reaped at %d, now is %d", got.reaped, ticks())
		}
	}
}

func TestReadLedgerOfOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l, err := newLedger(folder, "m")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	free, err := l.take()
	if err != nil {
		t.Fatal(err)
	}
	l.write(free, target{leader: 1})
	content, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, targets, err := readLedger(content, 0); len(targets) != 1 || err != nil {
		t.Fatalf("%v, %v", targets, err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"short":         func(b []byte) []byte { return b[:100] },
		"empty":         func([]byte) []byte { return nil },
		"other start":   func(b []byte) []byte { b[len(magic)]++; return b },
		"other version": func(b []byte) []byte { b[0]++; return b },
	} {
		_, targets, err := readLedger(change(append([]byte{}, content...)), 0)
		if len(targets) > 0 || (err != nil) != (name == "other version") {
			t.Errorf("%s: %v, %v", name, targets, err)
		}
	}
}

// A folder that others can write to decides nothing.
func TestRuntimeFolder(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_RUNTIME_DIR", "")
	path, err := MakeRuntimeFolder()
	if err != nil || filepath.Dir(path) != temp {
		t.Fatalf("%q, %v", path, err)
	}
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil || s.Mode&0o777 != 0o700 {
		t.Errorf("mode %o, %v; want 700", s.Mode&0o777, err)
	}

	runtimeDir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	if err := os.Chmod(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := MakeRuntimeFolder(); err != nil || filepath.Dir(path) != runtimeDir {
		t.Errorf("%q, %v; want it in XDG_RUNTIME_DIR", path, err)
	}
	if err := os.Chmod(runtimeDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := MakeRuntimeFolder(); err != nil || filepath.Dir(path) != temp {
		t.Errorf("%q, %v; want it in TMPDIR if XDG_RUNTIME_DIR is not private", path, err)
	}

	for name, spoil := range map[string]func() error{
		"open to others": func() error { return os.Chmod(path, 0o770) },
		"a link":         func() error { return os.Symlink(runtimeDir, path) },
		"a file":         func() error { return os.WriteFile(path, nil, 0o600) },
		"another user's": func() error { return os.Lchown(path, nobody, nobody) },
		"in an open one": func() error { return os.Chmod(temp, 0o777) },
		"in a file":      func() error { t.Setenv("TMPDIR", "/dev/null"); return nil },
	} {
		if name == "a link" || name == "a file" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := spoil(); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		if path, err := MakeRuntimeFolder(); err == nil {
			t.Errorf("%s: %q has been accepted", name, path)
		}
		t.Setenv("TMPDIR", temp)
		_ = os.Chmod(temp, 0o700)
		_ = os.Remove(path)
		_ = os.Mkdir(path, 0o700)
	}

	// Without one, walk works and says what is missing.
	t.Setenv("TMPDIR", "/dev/null")
	k := open(t, Config{Means: Walk})
	if !strings.Contains(k.Why(), "if this program is killed") {
		t.Errorf("remarks %q, want one on the missing folder", k.Why())
	}
	start(t, k, escapees[1]).mustKill(t)
}
