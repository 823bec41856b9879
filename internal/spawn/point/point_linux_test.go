package point

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// told is what a registrar has been told and not been told to forget.
type told struct {
	mu      sync.Mutex
	records []string
}

func (r *told) Add(record string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record)
}

func (r *told) Remove(record string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = slices.DeleteFunc(r.records, func(s string) bool { return s == record })
}

// newKeeper returns a keeper with a runtime folder of the test's own.
func newKeeper(t *testing.T, r *told) *Keeper {
	t.Helper()
	return NewKeeper(r, func(what string, err error) { t.Errorf("%s: %v", what, err) })
}

func ownRuntime(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", folder)
	return filepath.Join(folder, "airlock")
}

func hasMark(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil && IsMark(info)
}

func isEmpty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}

func TestHold(t *testing.T) {
	runtime := ownRuntime(t)
	ws := t.TempDir()
	var r told
	k := newKeeper(t, &r)
	points := []Point{{ws + "/.git", true}, {ws + "/.env\n\"", false}}
	states, release, err := k.Hold(points)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(states, []State{Directory, File}) {
		t.Errorf("states %v", states)
	}
	for _, p := range points {
		if !hasMark(t, p.Path) {
			t.Errorf("%q is no mount point", p.Path)
		}
	}
	if len(r.records) != 1 || !Records(r.records[0]) {
		t.Errorf("records %q", r.records)
	}
	// Another needs one of them, and the first goes.
	_, again, err := k.Hold(points[:1])
	if err != nil {
		t.Fatal(err)
	}
	release()
	release()
	if !hasMark(t, points[0].Path) || hasMark(t, points[1].Path) {
		t.Error("what is needed is gone, or what is not needed is there")
	}
	again()
	if !isEmpty(t, ws) {
		t.Error("something is left")
	}
	k.Close()
	if len(r.records) != 0 || !isEmpty(t, runtime) {
		t.Errorf("records %q, or a list, are left", r.records)
	}
}

// Two programs need the same mount point, in any order.
func TestShared(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	a, b := newKeeper(t, &r), newKeeper(t, &r)
	defer a.Close()
	defer b.Close()
	for _, directory := range []bool{true, false} {
		p := []Point{{ws + "/x", directory}}
		_, releaseA, err := a.Hold(p)
		if err != nil {
			t.Fatal(err)
		}
		_, releaseB, err := b.Hold(p)
		if err != nil {
			t.Fatal(err)
		}
		releaseA()
		if !hasMark(t, p[0].Path) {
			t.Error("the first has removed what the second needs")
		}
		releaseB()
		if !isEmpty(t, ws) {
			t.Error("the last has left it")
		}
	}
}

// What is there by then stays, and is not touched.
func TestSomethingElse(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	k := newKeeper(t, &r)
	defer k.Close()
	if err := os.Mkdir(ws+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ws+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", ws+"/link"); err != nil {
		t.Fatal(err)
	}
	states, release, err := k.Hold([]Point{{ws + "/dir", false}, {ws + "/file", true}})
	if err != nil || !slices.Equal(states, []State{Directory, File}) {
		t.Fatalf("%v, %v", states, err)
	}
	release()
	if _, err := os.Stat(ws + "/dir"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ws + "/file"); err != nil {
		t.Error(err)
	}
	if _, _, err := k.Hold([]Point{{ws + "/new", true}, {ws + "/link", true}}); err == nil {
		t.Error("a link was taken for a mount point")
	}
	if hasMark(t, ws+"/new") {
		t.Error("a mount point is left after an error")
	}
	if _, _, err := k.Hold([]Point{{ws + "/none/x", true}}); err == nil {
		t.Error("a directory that is not there was no error")
	}
}

// A leftover of the other kind is as good, and is removed in the end.
func TestLeftover(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	k := newKeeper(t, &r)
	defer k.Close()
	if err := unix.Mkdir(ws+"/dir", unix.S_ISVTX|0o500); err != nil {
		t.Fatal(err)
	}
	states, release, err := k.Hold([]Point{{ws + "/dir", false}})
	if err != nil || states[0] != Directory {
		t.Fatalf("%v, %v", states, err)
	}
	release()
	if !isEmpty(t, ws) {
		t.Error("the leftover is still there")
	}
}

// Somebody removes, or changes, a mount point that is needed.
func TestMeddling(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	k := newKeeper(t, &r)
	defer k.Close()
	p := []Point{{ws + "/x", true}}
	_, release, err := k.Hold(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p[0].Path); err != nil {
		t.Fatal(err)
	}
	_, again, err := k.Hold(p)
	if err != nil || !hasMark(t, p[0].Path) {
		t.Fatalf("it was not made again: %v", err)
	}
	release()
	if err := os.Chmod(p[0].Path, 0o755); err != nil {
		t.Fatal(err)
	}
	again()
	if isEmpty(t, ws) {
		t.Error("what somebody has made their own was removed")
	}
}

// The program dies: the warden sweeps, also when the list's name is gone. And if
// that is dead, too, the next program does.
func TestSweep(t *testing.T) {
	runtime := ownRuntime(t)
	for _, how := range []string{"warden", "nameless", "next"} {
		ws := t.TempDir()
		var r told
		dead := newKeeper(t, &r)
		points := []Point{{ws + "/d", true}, {ws + "/f", false}, {ws + "/kept", true}, {ws + "/changed", true}}
		if _, _, err := dead.Hold(points); err != nil {
			t.Fatal(err)
		}
		alive := newKeeper(t, &told{})
		_, release, err := alive.Hold(points[2:3])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(ws+"/changed", 0o700); err != nil {
			t.Fatal(err)
		}
		record := r.records[0]
		Hold(record)
		if how == "warden" {
			if err := Sweep(record); err == nil {
				t.Error("it was swept up after a program that is alive")
			}
		}
		die(dead)
		switch how {
		case "nameless":
			if err := os.Remove(dead.list.file.Name()); err != nil {
				t.Fatal(err)
			}
			fallthrough
		case "warden":
			if err := Sweep(record); err != nil {
				t.Error(err)
			}
		case "next":
			SweepLeft()
		}
		for _, name := range []string{"d", "f"} {
			if hasMark(t, ws+"/"+name) {
				t.Errorf("%s: %s is left", how, name)
			}
		}
		if !hasMark(t, ws+"/kept") {
			t.Errorf("%s: what another program needs is gone", how)
		}
		if _, err := os.Stat(ws + "/changed"); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		release()
		alive.Close()
		if hasMark(t, ws+"/kept") || !isEmpty(t, runtime) {
			t.Errorf("%s: something is left", how)
		}
	}
}

// die closes what the end of a program closes.
func die(k *Keeper) {
	for _, p := range k.places {
		if p.mark != nil {
			p.mark.close()
		}
	}
	k.list.file.Close()
}

// What has been mounted on is not uncovered before whoever has mounted it is dead.
func TestSweepWaits(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	dead := newKeeper(t, &r)
	if _, _, err := dead.Hold([]Point{{ws + "/d", true}}); err != nil {
		t.Fatal(err)
	}
	helper, err := unix.Dup(int(dead.Lock().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	die(dead)
	SweepLeft()
	if !hasMark(t, ws+"/d") {
		t.Error("it was swept up too early")
	}
	unix.Close(helper)
	if err := Sweep(r.records[0]); err != nil || hasMark(t, ws+"/d") {
		t.Errorf("it was not swept up: %v", err)
	}
}

// Where nothing can be put by anybody there is nothing to cover.
func TestUnwritable(t *testing.T) {
	ownRuntime(t)
	var r told
	k := newKeeper(t, &r)
	defer k.Close()
	states, release, err := k.Hold([]Point{{"/proc/airlock", true}, {"/proc/airlock/x", false}})
	if err == nil {
		release()
	}
	// /proc belongs to root, and says ENOENT to who wants to make something there.
	if err == nil && !slices.Equal(states, []State{Absent, Absent}) {
		t.Errorf("states %v", states)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	states, release, err = k.Hold([]Point{{"/usr/airlock", true}, {"/usr/airlock/x", false}})
	if err != nil || !slices.Equal(states, []State{Absent, Absent}) {
		t.Fatalf("%v, %v", states, err)
	}
	release()
	own := t.TempDir()
	if err := os.Chmod(own, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Hold([]Point{{own + "/x", true}}); err == nil {
		t.Error("a command could make its directory writable, and put something there")
	}
}

// Many at once need the same few.
func TestMany(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	var r told
	keepers := []*Keeper{newKeeper(t, &r), newKeeper(t, &r)}
	points := []Point{{ws + "/a", true}, {ws + "/b", false}}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 50 {
				_, release, err := keepers[i%2].Hold(points)
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range points {
					if info, err := os.Lstat(p.Path); err != nil || !IsMark(info) {
						t.Errorf("held, and not there: %v", err)
					}
				}
				release()
			}
		})
	}
	all.Wait()
	if !isEmpty(t, ws) {
		t.Error("something is left")
	}
	for _, k := range keepers {
		if len(k.places) > 0 || len(k.list.places) > 0 || k.list.live != 0 {
			t.Error("a keeper remembers what nobody needs")
		}
		k.Close()
	}
}

// The list does not grow without end while something is held.
func TestListStaysSmall(t *testing.T) {
	ownRuntime(t)
	ws := t.TempDir()
	l := newList(&told{}, func(string, error) {})
	defer l.close()
	l.add([]string{ws + "/held"})
	for range 5000 {
		l.add([]string{ws + "/x"})
		l.remove([]string{ws + "/x"})
	}
	info, err := l.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > slack+1024 || int64(l.size) != info.Size() {
		t.Errorf("%d bytes, thought to be %d", info.Size(), l.size)
	}
	content, err := os.ReadFile(l.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(readList(content), ws+"/held") {
		t.Error("what is held is not on the list")
	}
	l.remove([]string{ws + "/held"})
}

func TestIsMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		mode fs.FileMode
		text string
		want bool
	}{
		{"mark", fs.ModeSticky | 0o400, "", true},
		{"text", fs.ModeSticky | 0o400, "x", false},
		{"readonly", 0o400, "", false},
		{"usual", 0o644, "", false},
		{"all", fs.ModeSticky | 0o444, "", true},
		{"group", fs.ModeSticky | 0o440, "", true},
		{"written", fs.ModeSticky | 0o464, "", false},
		{"executed", fs.ModeSticky | 0o445, "", false},
		{"closed", fs.ModeSticky | 0o044, "", false},
	} {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsMark(info); got != test.want {
			t.Errorf("%s (%v): %v", test.name, info.Mode(), got)
		}
	}
}

// FuzzReadList: whatever is on a list, only clean absolute paths come off it.
func FuzzReadList(f *testing.F) {
	f.Add([]byte("\"/a\"\n\"/b\\n\"\n\"c\"\n/x\"\n\"/../y\"\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, path := range readList(content) {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path {
				t.Errorf("%q", path)
			}
			if again := readList(line(path)); !slices.Equal(again, []string{path}) {
				t.Errorf("%q comes back as %q", path, again)
			}
		}
	})
}
