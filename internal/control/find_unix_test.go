//go:build unix

package control

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFind: by default the socket is named for the process, stands in the user's
// folder, and can be found there, beside those of others; what has been left
// behind is removed.
func TestFind(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("AIRLOCK_CONTROL_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	first, _, shut := listen(t, "")
	second, _, _ := listen(t, "")
	base := filepath.Join(runtime, "airlock", strconv.Itoa(os.Getpid()))
	if first.Path() != base+".sock" || second.Path() != base+"-1.sock" {
		t.Fatalf("they are at %s and %s", first.Path(), second.Path())
	}
	stale := filepath.Join(runtime, "airlock", "999999999.sock")
	leaveSocket(t, stale)
	ours := func() []string {
		t.Helper()
		found, err := Find()
		must(t, err)
		// There may be executors on this machine besides.
		return slices.DeleteFunc(found, func(path string) bool { return !strings.HasPrefix(path, runtime) })
	}
	if got := ours(); !slices.Equal(got, []string{second.Path(), first.Path()}) {
		t.Errorf("found %q", got)
	}
	if _, err := os.Lstat(stale); err == nil {
		t.Error("what has been left behind is still there")
	}
	say(t, dial(t, first.Path()), "hello")
	shut()
	if got := ours(); !slices.Equal(got, []string{second.Path()}) {
		t.Errorf("found %q", got)
	}
	third, _, _ := listen(t, "")
	if third.Path() != first.Path() {
		t.Errorf("the third is at %s", third.Path())
	}
}

// TestFoldersThatAreNotOurs: a variable that leads elsewhere is not followed, and
// a folder that others can change is neither used nor searched, but told of.
func TestFoldersThatAreNotOurs(t *testing.T) {
	t.Setenv("AIRLOCK_CONTROL_DIR", "")
	for _, dir := range []string{"relative", "/dev/null", "/nonexistent"} {
		t.Setenv("XDG_RUNTIME_DIR", dir)
		for _, folder := range defaultFolders(os.Geteuid()) {
			if strings.HasPrefix(folder, dir) {
				t.Errorf("with XDG_RUNTIME_DIR=%s one folder is %s", dir, folder)
			}
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	uid := os.Geteuid() + 1 // for whom nothing else is there
	want := filepath.Join(temp, "airlock-"+strconv.Itoa(uid))
	folders := defaultFolders(uid)
	if !slices.Equal(folders, []string{want}) {
		t.Fatalf("the folders are %q", folders)
	}
	must(t, os.Mkdir(want, 0o700))
	if _, err := findIn(want, uid); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("got %v", err)
	}
	must(t, os.Chmod(want, 0o777)) //nolint:gosec // on purpose
	if _, err := findIn(want, os.Geteuid()); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("got %v", err)
	}
}

// TestNamedFolder: a folder that is named is the only one.
func TestNamedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "named")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("AIRLOCK_CONTROL_DIR", dir)
	if found, err := Find(); err != nil || len(found) != 0 {
		t.Errorf("found %q, %v", found, err)
	}
	l, _, _ := listen(t, "")
	if filepath.Dir(l.Path()) != dir {
		t.Errorf("it is at %s", l.Path())
	}
	if found, err := Find(); err != nil || !slices.Equal(found, []string{l.Path()}) {
		t.Errorf("found %q, %v", found, err)
	}
	must(t, os.Chmod(dir, 0o755))
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("got %v", err)
	}
	if _, err := Listen(Config{}); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("got %v", err)
	}
}

func TestOwnNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"1.sock": true, "4711-12.sock": true, "0.sock": false, "01.sock": false, "-1.sock": false, "1-.sock": false,
		"1-0.sock": false, "1-2-3.sock": false, "1.sock.sock": false, ".sock": false, "1": false, "agent.1.sock": false,
	} {
		if got := isOwnName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
