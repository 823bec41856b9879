package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func copyAll(tb testing.TB, source, destination string) error {
	tb.Helper()
	_, err := new(Files).Copy(tb.Context(), &protocol.CopyParams{
		SourcePath: uri(tb, source), DestinationPath: uri(tb, destination), Recursive: true,
	})
	return err
}

func TestCopyFile(t *testing.T) {
	dir := folder(t)
	data := string(noise(1 << 20))
	source := put(t, dir+"/source", data)
	must(t, os.Chmod(source, 0o751))
	put(t, dir+"/old", data+data)
	put(t, dir+"/target", "")
	link(t, "target", dir+"/link")
	for _, name := range []string{"new", "old", "link"} {
		must(t, copyAll(t, source, dir+"/"+name))
		info, err := os.Stat(dir + "/" + name)
		must(t, err)
		if content(t, dir+"/"+name) != data || info.Mode() != 0o751 {
			t.Errorf("%s: %d bytes with the mode %v", name, info.Size(), info.Mode())
		}
	}
	if content(t, dir+"/target") != data {
		t.Error("the link has not been written through")
	}
}

// TestCopyOfUnknownSize: some files have more in them than they say, and some would
// have readers wait for more.
func TestCopyOfUnknownSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	dir := folder(t)
	must(t, copyAll(t, "/proc/self/status", dir+"/copy"))
	if got := content(t, dir+"/copy"); !strings.HasPrefix(got, "Name:") {
		t.Errorf("got %q", got)
	}
	copyAll(t, "/proc/kmsg", dir+"/copy") // what comes of it is not ours to say
}

// TestCopyRights: what a file does for those that execute it is not copied.
func TestCopyRights(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such rights")
	}
	dir := folder(t)
	source := put(t, dir+"/source", "")
	must(t, os.Chmod(source, 0o755|os.ModeSetuid|os.ModeSetgid))
	must(t, copyAll(t, source, dir+"/copy"))
	info, err := os.Stat(dir + "/copy")
	must(t, err)
	if info.Mode() != 0o755 {
		t.Errorf("got the mode %v", info.Mode())
	}
}

// TestCopyOntoItself: a file stays as it is, by whatever name.
func TestCopyOntoItself(t *testing.T) {
	dir := folder(t)
	source := put(t, dir+"/source", "kept")
	must(t, os.Link(source, dir+"/hard"))
	link(t, "source", dir+"/soft")
	link(t, ".", dir+"/here")
	for _, name := range []string{"source", "hard", "soft", "here/source"} {
		must(t, copyAll(t, source, dir+"/"+name))
		if got := content(t, source); got != "kept" {
			t.Fatalf("copied to %s, the file has %q", name, got)
		}
	}
}

func TestCopyLink(t *testing.T) {
	dir := folder(t)
	link(t, "to/nothing at all", dir+"/link")
	must(t, copyAll(t, dir+"/link", dir+"/copy"))
	if got, err := os.Readlink(dir + "/copy"); got != "to/nothing at all" {
		t.Errorf("got %q %v", got, err)
	}
	check(t, "over a link", copyAll(t, dir+"/link", dir+"/copy"), exists)
	check(t, "to nowhere", copyAll(t, dir+"/link", dir+"/none/copy"), noFile)
}

func TestCopyTree(t *testing.T) {
	dir := folder(t)
	source := dir + "/source"
	for i := range namesAtOnce + 1 {
		put(t, source+"/many/"+strconv.Itoa(i), strconv.Itoa(i))
	}
	put(t, source+"/d/f", "new")
	must(t, os.Mkdir(source+"/empty", 0o700))
	link(t, "d/f", source+"/link")
	must(t, copyAll(t, source, dir+"/a/b/copy"))
	put(t, dir+"/merged/d/f", "old")
	put(t, dir+"/merged/d/other", "other")
	must(t, copyAll(t, source, dir+"/merged"))
	put(t, dir+"/behind/x", "")
	link(t, "behind", dir+"/dlink")
	must(t, copyAll(t, source, dir+"/dlink"))
	for _, copied := range []string{"a/b/copy", "merged", "behind"} {
		for _, path := range []string{"many/77", "d/f"} {
			if got, want := content(t, dir+"/"+copied+"/"+path), content(t, source+"/"+path); got != want {
				t.Errorf("%s/%s: got %q, want %q", copied, path, got, want)
			}
		}
		if target, err := os.Readlink(dir + "/" + copied + "/link"); target != "d/f" {
			t.Errorf("%s/link: got %q %v", copied, target, err)
		}
		if names, err := os.ReadDir(dir + "/" + copied + "/many"); err != nil || len(names) != namesAtOnce+1 {
			t.Errorf("%s/many has %d files", copied, len(names))
		}
	}
	if content(t, dir+"/merged/d/other") != "other" {
		t.Error("what was there before is lost")
	}
	if info, err := os.Stat(dir + "/merged/empty"); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() == 0o700 {
		t.Errorf("an empty directory: %v %v, want it with the mode of a new one", info, err)
	}
}

func TestCopyFaults(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/f", "x")
	put(t, dir+"/d/sub/f", "x")
	link(t, "d", dir+"/dlink")
	flat := func(from, to string) error {
		_, err := new(Files).Copy(t.Context(), &protocol.CopyParams{SourcePath: uri(t, dir+"/"+from), DestinationPath: uri(t, dir+"/"+to)})
		return err
	}
	check(t, "a directory", flat("d", "new"), refused{
		protocol.CodeInvalidRequest, "fs/copy requires recursive: true when sourcePath is a directory",
	})
	deep := func(from, to string) error { return copyAll(t, dir+"/"+from, dir+"/"+to) }
	check(t, "nothing", deep("none", "new"), noFile)
	check(t, "to nowhere", deep("f", "none/new"), noFile)
	check(t, "to a directory", deep("f", "d"), isDirectory)
	check(t, "a directory to a file", deep("d", "f"), exists)
	check(t, "a directory below a file", deep("d", "f/x"), noDirectory)
	for _, to := range []string{"d", "d/new", "d/sub/new/new", "dlink", "dlink/new", "dlink/sub"} {
		check(t, "d to "+to, deep("d", to), intoItself)
	}
	check(t, "all there is", copyAll(t, "/", dir+"/new"), intoItself)
	if names, err := filepath.Glob(dir + "/d/*"); err != nil || len(names) != 1 {
		t.Errorf("something has been copied: %q", names)
	}
	must(t, deep("d", "d2")) // begins alike, and is another one

	put(t, dir+"/t/sub", "is a file")
	check(t, "a directory in the tree to a file", deep("d", "t"), exists)
	put(t, dir+"/outside/x", "")
	must(t, os.Mkdir(dir+"/l", 0o755))
	link(t, "../outside", dir+"/l/sub")
	check(t, "a directory in the tree to a link", deep("d", "l"), exists)
	if !missing(dir + "/outside/f") {
		t.Error("what was copied has gone through a link in the tree")
	}
	put(t, dir+"/x/link/x", "")
	link(t, "x", dir+"/d/link")
	check(t, "a link to a directory", deep("d", "x"), exists)
}

// TestCopyOfATreeThatGrows: a destination that is moved into the source is found
// there, so that there is an end.
func TestCopyOfATreeThatGrows(t *testing.T) {
	at := folder(t)
	put(t, at+"/source/f", "")
	put(t, at+"/destination/f", "")
	source, err := (*dir)(nil).sub(at + "/source")
	must(t, err)
	defer source.Close()
	destination, err := (*dir)(nil).sub(at + "/destination")
	must(t, err)
	defer destination.Close()
	must(t, os.Rename(at+"/destination", at+"/source/destination"))
	info, err := destination.info()
	must(t, err)
	err = (&treeCopy{info}).directory(t.Context(), source, destination, 0)
	check(t, "copy", err, intoItself)
}

func TestCopyDeepTrees(t *testing.T) {
	dir := folder(t)
	must(t, os.Mkdir(dir+"/a", 0o755))
	must(t, os.Mkdir(dir+"/b", 0o755))
	deep := chain(t, dir+"/a", limits.TreeDepth+1)
	tooDeep := refused{protocol.CodeInternal, "the tree is more than 1024 directories deep; have a command do this"}
	check(t, "one deeper", copyAll(t, deep, dir+"/b/copy"), tooDeep)
	must(t, os.RemoveAll(dir+"/b")) // paths there are longer than can be named
	must(t, os.RemoveAll(dir+"/a"))
}

func TestCopyIsGivenUp(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/d/f", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(Files).Copy(ctx, &protocol.CopyParams{
		SourcePath: uri(t, dir+"/d"), DestinationPath: uri(t, dir+"/new"), Recursive: true,
	})
	if !errors.Is(err, context.Canceled) || !missing(dir+"/new/f") {
		t.Errorf("got %v, want that it was cancelled before a file was copied", err)
	}
}
