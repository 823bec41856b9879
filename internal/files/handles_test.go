package files

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

func open(tb testing.TB, f *Files, id, path string, mode protocol.OpenMode) error {
	tb.Helper()
	result, err := f.Open(tb.Context(), &protocol.OpenFileParams{HandleID: id, Path: uri(tb, path), Mode: mode})
	if err == nil && result.HandleID != id {
		tb.Errorf("opened %q as %q", id, result.HandleID)
	}
	return err
}

func read(tb testing.TB, f *Files, id string, offset, size uint64) (string, bool, error) {
	tb.Helper()
	encoded, err := f.AppendReadBlock(tb.Context(), nil, &protocol.ReadBlockParams{HandleID: id, Offset: offset, Len: size})
	if err != nil {
		return "", false, err
	}
	result := decode[protocol.ReadBlockResult](tb, encoded)
	return string(result.Chunk), result.EOF, nil
}

func write(tb testing.TB, f *Files, id string, offset uint64, data string) error {
	tb.Helper()
	_, err := f.WriteBlock(tb.Context(), &protocol.WriteBlockParams{HandleID: id, Offset: offset, Chunk: []byte(data)})
	return err
}

func closeFile(tb testing.TB, f *Files, id string) error {
	tb.Helper()
	_, err := f.CloseFile(tb.Context(), &protocol.CloseFileParams{HandleID: id})
	return err
}

func unknown(id string) refused {
	return refused{protocol.CodeNotFound, "unknown file handle `" + id + "`"}
}

func TestReadBlock(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	path := put(t, dir+"/ten", "0123456789")
	must(t, open(t, f, "", path, protocol.OpenRead)) // the empty id is one
	for _, test := range []struct {
		offset, size uint64
		data         string
		eof          bool
	}{
		{0, 4, "0123", false},
		{6, 4, "6789", false}, // ends where the file does, which is not known yet
		{8, 4, "89", true},
		{10, 4, "", true},
		{1 << 40, limits.FileBlockBytes, "", true},
		{0, limits.FileBlockBytes, "0123456789", true},
		{3, 1, "3", false},
	} {
		data, eof, err := read(t, f, "", test.offset, test.size)
		if err != nil || data != test.data || eof != test.eof {
			t.Errorf("%d bytes at %d: got %q %v %v, want %q %v", test.size, test.offset, data, eof, err, test.data, test.eof)
		}
	}
	must(t, os.Remove(path)) // the handle is the file's
	put(t, path, "other")
	if data, _, err := read(t, f, "", 0, 2); err != nil || data != "01" {
		t.Errorf("after the path has got another file: got %q %v", data, err)
	}
}

func TestReadBlockIsEncodedAsAResult(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	data := noise(2*pieceBytes + 1)
	must(t, open(t, f, "h", put(t, dir+"/f", string(data)), protocol.OpenRead))
	got, err := f.AppendReadBlock(t.Context(), []byte("before"), &protocol.ReadBlockParams{HandleID: "h", Offset: 1, Len: limits.FileBlockBytes})
	must(t, err)
	want, err := protocol.Encode(&protocol.ReadBlockResult{Chunk: data[1:], EOF: true})
	must(t, err)
	if !bytes.Equal(got, append([]byte("before"), want...)) {
		t.Error("the answer is not that of a result")
	}
}

func TestWriteBlock(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	path := put(t, dir+"/f", "something that is longer than all that is written")
	link(t, "f", dir+"/link")
	must(t, open(t, f, "h", dir+"/link", protocol.OpenReplace))
	if got := content(t, path); got != "" {
		t.Errorf("opened to be replaced, the file has %q", got)
	}
	must(t, write(t, f, "h", 5, "world"))
	must(t, write(t, f, "h", 0, "hello"))
	must(t, write(t, f, "h", 12, "!"))
	if got, want := content(t, path), "helloworld\x00\x00!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Close()
	if got := content(t, path); !strings.HasPrefix(got, "hello") {
		t.Errorf("what was written is lost: %q", got)
	}
}

// TestBlockFaults goes through what is checked, in its order.
func TestBlockFaults(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	path := put(t, dir+"/f", "0123456789")
	long := strings.Repeat("é", limits.HandleIDBytes/2) + "x"
	tooLongID := refused{protocol.CodeInvalidRequest, "file handle ID must not exceed 32 bytes"}
	badRead := refused{protocol.CodeInvalidRequest, "file read block length must be between 1 and 1048576"}
	badWrite := refused{protocol.CodeInvalidRequest, "file write block length must be between 1 and 1048576"}
	badRange := refused{protocol.CodeInvalidRequest, "file write range exceeds the signed 64-bit file offset limit"}

	_, err := f.Open(t.Context(), &protocol.OpenFileParams{HandleID: long, Path: parse(t, "file:///C:/x")})
	check(t, "open with a long id", err, tooLongID)
	must(t, open(t, f, "h", path, protocol.OpenRead))
	_, err = f.Open(t.Context(), &protocol.OpenFileParams{HandleID: "h", Path: parse(t, "file:///C:/x")})
	check(t, "open again", err, refused{protocol.CodeInvalidRequest, "file handle `h` already exists"})

	_, _, err = read(t, f, long, 0, 0)
	check(t, "read with a long id", err, tooLongID)
	_, _, err = read(t, f, "none", 0, 0)
	check(t, "read nothing", err, badRead)
	_, _, err = read(t, f, "none", 0, limits.FileBlockBytes+1)
	check(t, "read too much", err, badRead)
	_, _, err = read(t, f, "none", 0, 1)
	check(t, "read what is not open", err, unknown("none"))

	check(t, "write with a long id", write(t, f, long, 0, ""), tooLongID)
	check(t, "write nothing", write(t, f, "none", math.MaxUint64, ""), badWrite)
	check(t, "write too much", write(t, f, "none", 0, strings.Repeat("x", limits.FileBlockBytes+1)), badWrite)
	check(t, "write beyond all files", write(t, f, "none", math.MaxInt64, "x"), badRange)
	check(t, "write around the end of numbers", write(t, f, "none", math.MaxUint64, "x"), badRange)
	check(t, "write to what is not open", write(t, f, "none", 0, "x"), unknown("none"))

	check(t, "close with a long id", closeFile(t, f, long), tooLongID)
	check(t, "close what is not open", closeFile(t, f, "none"), fine)

	if runtime.GOOS == "windows" {
		return
	}
	check(t, "write to what is read", write(t, f, "h", 0, "x"), badHandle)
	if data, _, err := read(t, f, "h", 0, 1); data != "0" {
		t.Errorf("which has closed it: %v", err)
	}
	_, _, err = read(t, f, "h", math.MaxInt64+1, 1)
	check(t, "read beyond all files", err, badArgument)
	_, _, err = read(t, f, "h", 0, 1)
	check(t, "which closes it", err, unknown("h"))
	must(t, open(t, f, "h", dir+"/new", protocol.OpenReplace))
	_, _, err = read(t, f, "h", 0, 1)
	check(t, "read what is written", err, badHandle)
	check(t, "which closes it", write(t, f, "h", 0, "x"), unknown("h"))
}

// TestHandlesAreBounded, those of a connection and those of all, and what is
// closed can be opened again.
func TestHandlesAreBounded(t *testing.T) {
	dir := folder(t)
	path := put(t, dir+"/f", "x")
	full := refused{protocol.CodeInvalidRequest, "at most 128 file handles may be open per connection"}
	budget := new(Budget)
	f := New(budget, nil)
	defer f.Close()
	for i := range limits.FileHandles {
		must(t, open(t, f, strconv.Itoa(i), path, protocol.OpenRead))
	}
	check(t, "one more", open(t, f, "more", path, protocol.OpenRead), full)
	check(t, "one more, of nothing", open(t, f, "more", dir+"/none", protocol.OpenRead), full)
	must(t, closeFile(t, f, "5"))
	check(t, "nothing", open(t, f, "more", dir+"/none", protocol.OpenRead), noFile)
	must(t, open(t, f, "more", path, protocol.OpenRead))

	budget.used.Store(limits.OpenFiles)
	other := New(budget, nil)
	defer other.Close()
	err := open(t, other, "h", path, protocol.OpenRead)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(limits.OpenFiles)) {
		t.Errorf("got %v, want that all have been opened that may be", err)
	}
	budget.used.Store(limits.FileHandles)
	f.Close()
	if left := budget.used.Load(); left != 0 {
		t.Errorf("%d are still taken when all have been closed", left)
	}
	check(t, "read after the end", func() error { _, _, err := read(t, f, "1", 0, 1); return err }(), unknown("1"))
	if err := open(t, f, "h", path, protocol.OpenRead); !errors.Is(err, os.ErrClosed) {
		t.Errorf("opening after the end: got %v", err)
	}
}

// TestReadBlockIsGivenUp: the file stays open.
func TestReadBlockIsGivenUp(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	must(t, open(t, f, "h", put(t, dir+"/f", "x"), protocol.OpenRead))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.AppendReadBlock(ctx, nil, &protocol.ReadBlockParams{HandleID: "h", Len: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if data, _, err := read(t, f, "h", 0, 1); data != "x" {
		t.Errorf("afterwards: %v", err)
	}
}

// TestHandleIsClosedWhileItIsOpened: it is not left open.
func TestHandleIsClosedWhileItIsOpened(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	path := put(t, dir+"/f", "x")
	h, err := f.reserve("h")
	must(t, err)
	check(t, "open again", open(t, f, "h", path, protocol.OpenRead), refused{protocol.CodeInvalidRequest, "file handle `h` already exists"})
	_, _, err = read(t, f, "h", 0, 1)
	check(t, "read", err, unknown("h"))
	must(t, closeFile(t, f, "h"))
	if f.fill("h", h, nil) {
		t.Error("a handle that has been closed gets a file")
	}
	must(t, open(t, f, "h", path, protocol.OpenRead))
	f.drop("h", h)
	if data, _, err := read(t, f, "h", 0, 1); data != "x" {
		t.Errorf("the handle before has closed its successor: %v", err)
	}
}

// TestHandleIsClosedBeforeABlock: whoever has just looked it up is told the same as
// those that come later.
func TestHandleIsClosedBeforeABlock(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	for _, mode := range []protocol.OpenMode{protocol.OpenRead, protocol.OpenReplace} {
		must(t, open(t, f, "h", put(t, dir+"/f", "x"), mode))
		h, err := f.lookup("h")
		must(t, err)
		must(t, h.file.Close())
		_, _, err = read(t, f, "h", 0, 1)
		check(t, "read", err, unknown("h"))
		check(t, "write", write(t, f, "h", 0, "x"), unknown("h"))
		must(t, closeFile(t, f, "h"))
	}
}

// TestHandlesAtTheSameTime opens, uses and closes the same handles in several
// goroutines.
func TestHandlesAtTheSameTime(t *testing.T) {
	dir := folder(t)
	f := connection(t)
	path := put(t, dir+"/f", "0123456789")
	var users sync.WaitGroup
	for user := range 4 {
		users.Go(func() {
			for i := range 200 {
				id := strconv.Itoa((i + user) % 3)
				open(t, f, id, path, protocol.OpenRead)
				data, _, err := read(t, f, id, 2, 3)
				if err == nil && data != "234" {
					t.Errorf("got %q", data)
				}
				if i%2 == 0 {
					closeFile(t, f, id)
				}
			}
		})
	}
	users.Wait()
	f.Close()
	if left := f.budget.used.Load(); left != 0 {
		t.Errorf("%d are still taken when all have been closed", left)
	}
}
