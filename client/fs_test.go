package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// folder returns a folder of this machine, and its URI.
func folder(t *testing.T) (native string, root protocol.PathURI) {
	t.Helper()
	native = t.TempDir()
	root, err := protocol.PathURIFromNative(native)
	if err != nil {
		t.Fatal(err)
	}
	return native, root
}

func join(t *testing.T, root protocol.PathURI, name string) protocol.PathURI {
	t.Helper()
	path, err := root.Join(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// filesTest does what any executor can do with files.
func filesTest(t *testing.T, e client.Executor) {
	native, root := folder(t)
	ctx, files := t.Context(), e.Files()
	at := func(name string) protocol.PathURI { return join(t, root, name) }
	odd := "a/odd é#?%2f{} name"
	for _, err := range []error{
		files.MkdirAll(ctx, at("a/b/c")),
		files.MkdirAll(ctx, at("a/b/c")),
		files.Mkdir(ctx, at("a/d")),
		files.WriteFile(ctx, at(odd), []byte("hello")),
		files.WriteFile(ctx, at("a/empty"), nil),
		files.Copy(ctx, at(odd), at("a/b/copy")),
		files.CopyAll(ctx, at("a/b"), at("a/copied")),
		files.Remove(ctx, at("a/b/copy")),
		files.RemoveAll(ctx, at("nothing")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(native, filepath.FromSlash(odd))); string(data) != "hello" || err != nil {
		t.Errorf("%q, error %v", data, err)
	}
	info, err := files.Stat(ctx, at(odd))
	if err != nil || info.Name() != "odd é#?%2f{} name" || info.Size() != 5 || info.IsDir() {
		t.Errorf("%v, error %v", info, err)
	}
	if err := fstest.TestFS(files.Dir(ctx, at("a")), "b/c", "d", "empty", "copied/copy", "odd é#?%2f{} name"); err != nil {
		t.Error(err)
	}
	var walked []string
	for entry, err := range files.Walk(ctx, root, client.WalkOptions{}) {
		if err != nil {
			t.Error(err)
		}
		walked = append(walked, strings.TrimPrefix(entry.Path.String(), root.String())+" "+string(entry.Kind))
	}
	slices.Sort(walked)
	if want := []string{
		"/a directory", "/a/b directory", "/a/b/c directory", "/a/copied directory", "/a/copied/c directory",
		"/a/copied/copy file", "/a/d directory", "/a/empty file", "/a/odd%20%C3%A9%23%3F%252f%7B%7D%20name file",
	}; !slices.Equal(walked, want) {
		t.Errorf("walked %q", walked)
	}
	for what, test := range map[string]struct{ got, want error }{
		"missing":    {errOf(files.Stat(ctx, at("nope"))), fs.ErrNotExist},
		"open":       {errOf(files.Open(ctx, at("nope"))), fs.ErrNotExist},
		"read":       {errOf(files.ReadFile(ctx, at("nope"))), fs.ErrNotExist},
		"list":       {errOf(files.ReadDir(ctx, at("nope"))), fs.ErrNotExist},
		"create":     {errOf(files.Create(ctx, at("nope/x"))), fs.ErrNotExist},
		"write":      {files.WriteFile(ctx, at("nope/x"), nil), fs.ErrNotExist},
		"no parent":  {files.Mkdir(ctx, at("nope/x")), fs.ErrNotExist},
		"copy":       {files.Copy(ctx, at("nope"), at("x")), fs.ErrNotExist},
		"no file":    {files.Remove(ctx, at("nope")), fs.ErrNotExist},
		"resolve":    {errOf(files.Canonicalize(ctx, at("nope"))), fs.ErrNotExist},
		"is there":   {files.Mkdir(ctx, at("a")), fs.ErrExist},
		"is not":     {files.Remove(ctx, at("a")), fs.ErrExist},
		"is a drive": {errOf(files.Stat(ctx, at("../../../../../../C:/x"))), nil},
	} {
		if test.want != nil && !errors.Is(test.got, test.want) || test.got == nil {
			t.Errorf("%s: %v", what, test.got)
		}
		if _, ok := errors.AsType[*protocol.Error](test.got); !ok {
			t.Errorf("%s: %#v is not what the executor has answered", what, test.got)
		}
	}
}

// errOf returns the error of two results.
func errOf[T any](_ T, err error) error { return err }

// blocksTest writes and reads a file that is too large for one message.
func blocksTest(t *testing.T, e client.Executor) {
	native, root := folder(t)
	path := join(t, root, "large")
	data := bytes.Repeat([]byte("0123456789abcde\n"), 1<<20)
	data = append(data, "end"...)
	if err := e.Files().WriteFile(t.Context(), path, data); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(native, "large")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes are there, error %v", len(got), len(data), err)
	}
	if got, err := e.Files().ReadFile(t.Context(), path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes came back, error %v", len(got), len(data), err)
	}
	file, err := e.Files().Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	section := make([]byte, 40)
	if n, err := file.ReadAt(section, int64(len(data)-20)); n != 20 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, error %v", n, err)
	}
	if _, err := file.Seek(-3, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(file); string(rest) != "end" || err != nil {
		t.Errorf("%q, error %v", rest, err)
	}
}

func TestFiles(t *testing.T)  { executors(t, filesTest) }
func TestBlocks(t *testing.T) { executors(t, blocksTest) }

// TestPeerFiles: the same, with the executor of Codex.
func TestPeerFiles(t *testing.T) {
	e := dialPeer(t, peer(t), client.Options{})
	filesTest(t, e)
	blocksTest(t, e)
	_, root := folder(t)
	for what, err := range map[string]error{
		"rename": e.Files().Rename(t.Context(), join(t, root, "a"), join(t, root, "b"), false),
		"chmod":  e.Files().Chmod(t.Context(), root, 0o700),
		"update": errOf(e.Files().Update(t.Context(), join(t, root, "a"), 0)),
		"range":  errOf(e.Files().ReadBytes(t.Context(), root, 0, 1)),
		"watch":  errOf(e.Files().Watch(t.Context(), protocol.WatchParams{Path: root})),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range e.Files().Search(t.Context(), protocol.SearchParams{Path: root, Pattern: "x"}) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("search: %v", err)
		}
	}
}

// TestFilesExtra: what only Airlock does with files.
func TestFilesExtra(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		native, root := folder(t)
		ctx, files := t.Context(), e.Files()
		at := func(name string) protocol.PathURI { return join(t, root, name) }
		var text strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&text, "line %d\n", i+1)
		}
		if err := files.WriteFile(ctx, at("a"), []byte(text.String())); err != nil {
			t.Fatal(err)
		}
		if err := files.Rename(ctx, at("a"), at("b"), false); err != nil {
			t.Fatal(err)
		}
		if err := files.WriteFile(ctx, at("c"), nil); err != nil {
			t.Fatal(err)
		}
		if err := files.Rename(ctx, at("b"), at("c"), false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("renamed over another: %v", err)
		}
		if r, err := files.ReadLines(ctx, at("b"), 2, 2); err != nil || string(r.DataBase64) != "line 2\nline 3\n" || r.Offset != 7 {
			t.Errorf("lines: %+v, error %v", r, err)
		}
		if r, err := files.ReadBytes(ctx, at("b"), 5, 4); err != nil || string(r.DataBase64) != "1\nli" {
			t.Errorf("bytes: %+v, error %v", r, err)
		}
		found := 0
		for match, err := range files.Search(ctx, protocol.SearchParams{Path: root, Pattern: "line"}) {
			if err != nil || match.Line != uint64(found)+1 {
				t.Fatalf("%+v, error %v", match, err)
			}
			found++
		}
		if found != 3000 {
			t.Errorf("found %d", found)
		}
		w, err := files.Update(ctx, at("b"), 5)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write([]byte("X"))
		if err := errors.Join(err, w.Close()); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(filepath.Join(native, "b"))
		if want := strings.Replace(text.String(), "1", "X", 1); string(data) != want || err != nil {
			t.Errorf("%d in place of %d bytes, error %v", len(data), len(want), err)
		}
	})
}

// TestWatchFiles: what changes after the call is told.
func TestWatchFiles(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		native, root := folder(t)
		w, err := e.Files().Watch(t.Context(), protocol.WatchParams{Path: root, Recursive: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := os.WriteFile(filepath.Join(native, "new"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for {
			changes, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(changes.Changes, func(c protocol.PathChange) bool { return c.Path == join(t, root, "new") }) {
				return
			}
		}
	})
}

// TestHugeDirectory: the list of a directory that is as large as may be can be taken in,
// and that of a larger one is refused.
func TestHugeDirectory(t *testing.T) {
	s := server.New(server.Config{})
	t.Cleanup(s.Close)
	e, err := client.Connect(t.Context(), s, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	native, root := folder(t)
	for i := range limits.ListedEntries + 1 {
		if i == limits.ListedEntries {
			if entries, err := e.Files().ReadDir(t.Context(), root); len(entries) != i || err != nil {
				t.Errorf("%d entries of %d, error %v", len(entries), i, err)
			}
		}
		if err := os.WriteFile(filepath.Join(native, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = e.Files().ReadDir(t.Context(), root)
	if _, refused := errors.AsType[*protocol.Error](err); !refused {
		t.Errorf("one more: %v", err)
	}
}

// random returns bytes of which no part is like another.
func random(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return data
}

// TestFilesOverCuts: files are read and written whole, whatever becomes of the
// connection.
func TestFilesOverCuts(t *testing.T) {
	flaky(t, 20, 1_000_000, func(t *testing.T, e client.Executor, c *cuts) {
		native, root := folder(t)
		data := random(3 << 20)
		path := join(t, root, "f")
		for c.left.Load() >= 0 && !t.Failed() {
			w, err := e.Files().Create(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(data)
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(native, "f")); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes are there, error %v", len(got), len(data), err)
			}
			file, err := e.Files().Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(file)
			if err := errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes came back, error %v", len(got), len(data), err)
			}
		}
	})
}

// TestTransfersGoOn: a transfer that is given up again and again goes on where it was
// confirmed, over cuts, and in the end every byte is in its place.
func TestTransfersGoOn(t *testing.T) {
	flaky(t, 20, 1_000_000, func(t *testing.T, e client.Executor, _ *cuts) {
		native, root := folder(t)
		data := random(8 << 20)
		path := join(t, root, "f")
		rounds := 0
		for confirmed := int64(0); confirmed < int64(len(data)); rounds++ {
			ctx, cancel := context.WithCancel(t.Context())
			w, err := e.Files().Update(ctx, path, confirmed)
			if err != nil {
				t.Fatal(err)
			}
			sure := min(int(confirmed)+1+rand.IntN(1<<20), len(data))
			most := min(sure+rand.IntN(1<<20), len(data))
			_, err = w.Write(data[confirmed:sure])
			if err := errors.Join(err, w.Flush()); err != nil {
				t.Fatal(err)
			}
			_, err = w.Write(data[sure:most])
			if most < len(data) {
				cancel()
			}
			err = errors.Join(err, w.Close())
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			confirmed = w.Confirmed()
			if confirmed < int64(sure) || confirmed > int64(most) {
				t.Fatalf("%d bytes of %d to %d are confirmed", confirmed, sure, most)
			}
		}
		if got, err := os.ReadFile(filepath.Join(native, "f")); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d of %d bytes are there after %d rounds, error %v", len(got), len(data), rounds, err)
		}
	})
}
