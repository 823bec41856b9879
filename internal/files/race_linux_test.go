package files

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// swapping swaps two paths for one another again and again while a test does
// something else.
func swapping(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for ctx.Err() == nil {
			unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			runtime.Gosched()
		}
	})
	return func() {
		cancel()
		swapper.Wait()
	}
}

// forAWhile does something again and again.
func forAWhile(do func(i int)) {
	for i, end := 0, time.Now().Add(200*time.Millisecond); i < 10 || time.Now().Before(end); i++ {
		do(i)
	}
}

// TestRemovalIsNotLedAstray: a directory of the tree that becomes a link while it
// is removed leads nowhere.
func TestRemovalIsNotLedAstray(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/kept/d/f", "x")
	link(t, dir+"/kept", dir+"/link")
	forAWhile(func(int) {
		put(t, dir+"/tree/sub/d/f", "")
		stop := swapping(t, dir+"/tree/sub", dir+"/link")
		remove(t, dir+"/tree") // may fail as the tree changes
		stop()
		if missing(dir + "/kept/d/f") {
			t.Fatal("what is behind the link has been removed")
		}
		os.RemoveAll(dir + "/tree")
		os.RemoveAll(dir + "/link")
		link(t, dir+"/kept", dir+"/link")
	})
}

// TestCopyIsNotLedAstray is the same for copies, at both ends.
func TestCopyIsNotLedAstray(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/secret/d/s", "secret")
	put(t, dir+"/source/sub/d/f", "x")
	link(t, dir+"/secret", dir+"/link")
	forAWhile(func(int) {
		stop := swapping(t, dir+"/source/sub", dir+"/link")
		copyAll(t, dir+"/source", dir+"/copy")
		stop()
		if _, err := os.Stat(dir + "/copy/sub/d/s"); err == nil && !isLinkAt(dir+"/copy/sub") {
			t.Fatal("what is behind the link has been copied")
		}
		os.RemoveAll(dir + "/copy")
	})
	os.RemoveAll(dir + "/source")
	os.RemoveAll(dir + "/link")
	put(t, dir+"/source/sub/d/f", "x")
	link(t, dir+"/secret", dir+"/link")
	forAWhile(func(int) {
		must(t, os.MkdirAll(dir+"/copy/sub", 0o755))
		stop := swapping(t, dir+"/copy/sub", dir+"/link")
		copyAll(t, dir+"/source", dir+"/copy")
		stop()
		if !missing(dir + "/secret/d/f") {
			t.Fatal("what is behind the link has been written to")
		}
		os.RemoveAll(dir + "/copy")
		os.RemoveAll(dir + "/link")
		link(t, dir+"/secret", dir+"/link")
	})
}

func isLinkAt(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// TestNoFollowIsNotLedAstray: no directory on the way is followed that becomes a
// link.
func TestNoFollowIsNotLedAstray(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/secret/f", "secret")
	put(t, dir+"/d/f", "plain")
	link(t, dir+"/secret", dir+"/link")
	f := connection(t)
	defer swapping(t, dir+"/d", dir+"/link")()
	u := uri(t, dir+"/d/f")
	forAWhile(func(int) {
		encoded, err := readWhole(t.Context(), f, nil, &protocol.ReadFileParams{Path: u, FollowSymlinks: no()})
		if err == nil && string(decode[protocol.ReadFileResult](t, encoded).DataBase64) != "plain" {
			t.Fatal("what is behind the link has been read")
		}
		data := protocol.FileData{Bytes: []byte("plain")}
		f.WriteFile(t.Context(), &protocol.WriteFileParams{Path: u, FollowSymlinks: no(), DataBase64: data})
		if content(t, dir+"/secret/f") != "secret" {
			t.Fatal("what is behind the link has been written to")
		}
	})
}

// TestOnlyFilesAreEmptied: what takes the place of a file after it has been looked
// at is judged by itself; nothing waits for a pipe.
func TestOnlyFilesAreEmptied(t *testing.T) {
	dir := folder(t)
	put(t, dir+"/f", "x")
	must(t, unix.Mkfifo(dir+"/pipe", 0o600))
	f := connection(t)
	defer swapping(t, dir+"/f", dir+"/pipe")()
	forAWhile(func(i int) {
		readWhole(t.Context(), f, nil, &protocol.ReadFileParams{Path: uri(t, dir+"/f")})
		f.WriteFile(t.Context(), &protocol.WriteFileParams{Path: uri(t, dir+"/f")})
		copyAll(t, dir+"/f", dir+"/copy")
		copyAll(t, dir+"/copy", dir+"/f")
		f.Open(t.Context(), &protocol.OpenFileParams{HandleID: strconv.Itoa(i), Path: uri(t, dir+"/f"), Mode: protocol.OpenReplace})
		f.CloseFile(t.Context(), &protocol.CloseFileParams{HandleID: strconv.Itoa(i)})
	})
}

// TestVanishing does everything while what it is done to comes and goes.
func TestVanishing(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	ctx, cancel := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			path := dir + "/tree/" + strconv.Itoa(i%5)
			os.MkdirAll(path, 0o755)
			os.WriteFile(path+"/f", []byte("x"), 0o644)
			if i%3 == 0 {
				os.RemoveAll(dir + "/tree")
			}
		}
	})
	forAWhile(func(i int) {
		for _, operation := range operations(t, f) {
			operation(uri(t, dir+"/tree/"+strconv.Itoa(i%5)))
			operation(uri(t, dir+"/tree/"+strconv.Itoa(i%5)+"/f"))
		}
		copyAll(t, dir+"/tree", dir+"/copy")
		remove(t, dir+"/tree")
	})
	cancel()
	other.Wait()
}
