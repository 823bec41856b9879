package point

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file system that does not keep modes, as umask makes of any: what was made would
// be taken for the user's own, and stay. It is removed at once.
func TestModesAreNotKept(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	k := newKeeper(t, &told{})
	defer k.Close()
	if _, release, err := k.Hold([]Point{{ws + "/ready", true}}); err != nil { // the list is made, too
		t.Fatal(err)
	} else {
		defer release()
	}
	old := unix.Umask(0o777)
	defer unix.Umask(old)
	for _, directory := range []bool{true, false} {
		_, _, err := k.Hold([]Point{{ws + "/x", directory}})
		if !errors.Is(err, errModes) {
			t.Errorf("directory %v: %v", directory, err)
		}
		if _, err := os.Lstat(ws + "/x"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("directory %v: it is left: %v", directory, err)
		}
	}
}

// A file system without locks: nothing would keep others from removing what is
// mounted on. It is removed at once, and the list is done without.
func TestNoLocks(t *testing.T) {
	runtime := ownRuntime(t)
	ws := t.TempDir()
	for _, errno := range []error{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOSYS} {
		flock = func(int, int) error { return errno }
		t.Cleanup(func() { flock = unix.Flock })
		var warned []string
		k := NewKeeper(nil, func(what string, err error) { warned = append(warned, what+": "+err.Error()) })
		for _, directory := range []bool{true, false} {
			if _, _, err := k.Hold([]Point{{ws + "/x", directory}}); !errors.Is(err, errNoLocks) {
				t.Errorf("%v, directory %v: %v", errno, directory, err)
			}
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "listed") {
			t.Errorf("%v: warned %q", errno, warned)
		}
		k.Close()
		if !isEmpty(t, ws) || !isEmpty(t, runtime) {
			t.Errorf("%v: something is left", errno)
		}
	}
}

// There are no descriptors left when mount points are to be removed: that is done as
// soon as there are some, and what stands in another goes first.
func TestNoDescriptors(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	must(t, os.Mkdir(ws+"/dir", 0o755))
	k := newKeeper(t, &told{})
	_, release, err := k.Hold([]Point{{ws + "/d", true}, {ws + "/dir/x", true}, {ws + "/f", false}})
	must(t, err)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: old.Max}))
	release()
	_, err = os.Open("/")
	k.list.mu.Lock()
	listed := len(k.list.places)
	k.list.mu.Unlock()
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if !errors.Is(err, unix.EMFILE) {
		t.Fatalf("there were descriptors: %v", err)
	}
	if listed != 3 {
		t.Errorf("of 3 that have not been removed %d are on the list", listed)
	}
	k.closing.Wait()
	if !isEmpty(t, ws+"/dir") || hasMark(t, ws+"/d") || hasMark(t, ws+"/f") || len(k.list.places) > 0 {
		t.Error("something is left")
	}
	k.Close()
}

// Two users share a workspace.
func TestForeign(t *testing.T) {
	const (
		nobody  = 65534
		askedIn = "AIRLOCK_TEST_FOREIGN"
	)
	if ws := os.Getenv(askedIn); ws != "" {
		foreignUser(t, ws)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("it takes root to be two users")
	}
	ws, err := os.MkdirTemp("/var/tmp", "airlock-point-") //nolint:usetesting // nobody else may look into that folder
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(ws)
	for name, mode := range map[string]os.FileMode{
		"": 0o755, "/shared": 0o777, "/tmp": 0o777 | os.ModeSticky, "/closed": 0o777, "/ours": 0o755, "/theirs": 0o777,
	} {
		if err := errors.Join(os.MkdirAll(ws+name, 0o700), os.Chmod(ws+name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	ownRuntime(t)
	k := newKeeper(t, &told{})
	defer k.Close()
	for _, name := range []string{"/theirs/x", "/tmp/x", "/closed/x", "/ours/x"} {
		if err := unix.Mkdir(ws+name, unix.S_ISVTX|0o500); err != nil { // by a umask of 077
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Lchown(ws+"/theirs/x", nobody, nobody), unix.Chmod(ws+"/tmp/x", unix.S_ISVTX|0o555)); err != nil {
		t.Fatal(err)
	}
	points := []Point{{ws + "/shared/x", true}, {ws + "/shared/f", false}, {ws + "/ours/x", true}, {ws + "/theirs/x", true}, {ws + "/closed/x", true}}
	_, release, err := k.Hold(points)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(ws, "test")
	if err := os.WriteFile(program, binary, 0o755); err != nil { //nolint:gosec // the other user executes it
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestForeign$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), askedIn+"="+ws), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	release()
	// What only we can remove there has been left for us.
	if !hasMark(t, ws+"/tmp/x") {
		t.Error("it is gone")
	}
	if _, release, err = k.Hold([]Point{{ws + "/tmp/x", true}}); err != nil {
		t.Fatal(err)
	}
	release()
	for _, name := range []string{"/shared", "/tmp", "/closed", "/ours", "/theirs"} {
		if !isEmpty(t, ws+name) {
			t.Errorf("something is left in %s", name)
		}
	}
}

// foreignUser meets the mount points of another user.
func foreignUser(t *testing.T, ws string) {
	lockTimeout = 20 * time.Millisecond
	// What can be locked is shared; it is removed by its owner, if only he can.
	for _, p := range []Point{{ws + "/shared/x", true}, {ws + "/shared/f", false}, {ws + "/tmp/x", true}} {
		m, _, err := hold(p)
		if err != nil || m == nil {
			t.Fatalf("%s: %v, %v", p.Path, m, err)
		}
		if err := m.remove(p.Path); err != nil || !hasMark(t, p.Path) {
			t.Errorf("%s was not left to its owner: %v", p.Path, err)
		}
		m.close()
	}
	p := Point{ws + "/closed/x", true}
	if _, _, err := hold(p); !errors.Is(err, errForeign) {
		t.Errorf("where it can be replaced: %v", err)
	}
	p.Path = ws + "/ours/x"
	if m, state, err := hold(p); err != nil || m != nil || state != Directory {
		t.Errorf("where it can't: %v, %v, %v", m, state, err)
	}
	if err := sweepPoint(ws + "/shared/x"); err != nil || !hasMark(t, ws+"/shared/x") {
		t.Errorf("it was swept up: %v", err)
	}
}

// The program is killed between any two steps of making mount points and removing
// them: whatever has been done by then is undone by who comes after.
func TestKilledBetweenSteps(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	steps := []func(l *list){
		func(*list) {},
		func(l *list) { l.add([]string{ws + "/d", ws + "/f"}) },
		func(*list) { must(t, makeIn(ws, "d", true)) },
		func(*list) { must(t, makeIn(ws, "f", false)) },
		func(*list) { must(t, os.Remove(ws+"/f")) },
	}
	for killed := range len(steps) + 1 {
		var r told
		l := newList(&r, func(what string, err error) { t.Errorf("%s: %v", what, err) })
		for _, step := range steps[:killed] {
			step(l)
		}
		if l.file != nil {
			l.file.Close() // and with it the lock
		}
		SweepLeft()
		if !isEmpty(t, ws) {
			t.Errorf("killed after %d steps: something is left", killed)
		}
		for _, record := range r.records {
			if err := Sweep(record); err != nil {
				t.Errorf("killed after %d steps: %v", killed, err)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func makeIn(dir, name string, directory bool) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return makeMark(fd, name, directory)
}

// A list is full of what makes no sense, of what is not ours, and of what others
// need: only what is left behind goes.
func TestGarbageList(t *testing.T) {
	runtime := ownRuntime(t)
	ws := t.TempDir()
	alive := newKeeper(t, &told{})
	_, release, err := alive.Hold([]Point{{ws + "/held", true}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, makeIn(ws, "left", true))
	must(t, os.Mkdir(ws+"/dir", 0o755))
	must(t, os.WriteFile(ws+"/file", nil, 0o600))
	must(t, os.Symlink("left", ws+"/link"))
	garbage := []byte("\x00\xff\"\\\n\"relative\"\n\"" + ws + "/../x\"\n")
	for _, name := range []string{"held", "dir", "file", "link", "none", "none/x", "file/x", "left/x", "left", "left"} {
		garbage = append(garbage, line(ws+"/"+name)...)
	}
	garbage = append(garbage, "\"/cut off"...)
	must(t, os.WriteFile(filepath.Join(runtime, listPrefix+"garbage"), garbage, 0o600))
	must(t, os.Mkdir(filepath.Join(runtime, listPrefix+"folder"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(runtime, listPrefix+"pipe"), 0o600))
	SweepLeft()
	entries, err := os.ReadDir(ws)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "dir file held link" {
		t.Errorf("there is %s", got)
	}
	if _, err := os.Lstat(filepath.Join(runtime, listPrefix+"garbage")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
	}
	release()
	alive.Close()
}
