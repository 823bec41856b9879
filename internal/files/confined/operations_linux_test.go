package confined

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/files"
	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/protocol"
)

// requests are operations in an order that makes sense, with "@" for a folder, and
// some that fail.
var requests = []struct{ method, params string }{
	{protocol.MethodCreateDirectory, `{"path":"@/d/e"}`},
	{protocol.MethodCreateDirectory, `{"path":"@/d/e","recursive":false}`},
	{protocol.MethodGetMetadata, `{"path":"@/f","followSymlinks":false}`},
	{protocol.MethodGetMetadata, `{"path":"@/no"}`},
	{protocol.MethodCanonicalize, `{"path":"@/d/./e/.."}`},
	{protocol.MethodReadDirectory, `{"path":"@"}`},
	{protocol.MethodReadDirectory, `{"path":"@/f"}`},
	{protocol.MethodWalk, `{"path":"@","options":{"maxDepth":9,"maxDirectories":9,"maxEntries":9,"followDirectorySymlinks":false}}`},
	{protocol.MethodWalk, `{"path":"@","options":{"maxDepth":9,"maxDirectories":0,"maxEntries":9,"followDirectorySymlinks":false}}`},
	{protocol.MethodReadRange, `{"path":"@/f","lines":{"first":2,"count":1}}`},
	{protocol.MethodReadRange, `{"path":"@/f"}`},
	{protocol.MethodSearch, `{"path":"@","pattern":"two"}`},
	{protocol.MethodSearch, `{"path":"@","pattern":"["}`},
	{protocol.MethodCopy, `{"sourcePath":"@/f","destinationPath":"@/d/g","recursive":false}`},
	{protocol.MethodCopy, `{"sourcePath":"@/d","destinationPath":"@/d/h","recursive":true}`},
	{protocol.MethodRename, `{"sourcePath":"@/d/g","destinationPath":"@/d/i"}`},
	{protocol.MethodChmod, `{"path":"@/d/i","mode":256}`},
	{protocol.MethodReadFile, `{"path":"@/f"}`},
	{protocol.MethodReadFile, `{"path":"@/d"}`},
	{protocol.MethodReadFile, `{"path":"@/pipe"}`},
	{protocol.MethodReadFile, `{"path":"file:///C:/x"}`},
	{protocol.MethodWriteFile, `{"path":"@/f","dataBase64":"QUJD"}`},
	{protocol.MethodWriteFile, `{"path":"@/no/f","dataBase64":"QUJD"}`},
	{protocol.MethodWriteFile, `{"path":"@/pipe","dataBase64":"QUJD"}`},
	{protocol.MethodOpenFile, `{"handleId":"a","path":"@/f","mode":"read"}`},
	{protocol.MethodOpenFile, `{"handleId":"b","path":"@/f","mode":"replace","airlock":{"keep":true}}`},
	{protocol.MethodOpenFile, `{"handleId":"c","path":"@/g","mode":"replace"}`},
	{protocol.MethodOpenFile, `{"handleId":"d","path":"@/no/g","mode":"replace"}`},
	{protocol.MethodRemove, `{"path":"@/d"}`},
	{protocol.MethodRemove, `{"path":"@/d","force":false}`},
}

var times = regexp.MustCompile(`AtMs":\d+`)

// decode decodes the parameters of a method.
func decode(t *testing.T, method, raw string) any {
	t.Helper()
	for _, m := range protocol.Contract() {
		if m.Method == method {
			params, err := m.Params.Decode([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			at := reflect.New(m.Params.Type)
			at.Elem().Set(reflect.ValueOf(params))
			return at.Interface()
		}
	}
	t.Fatalf("there is no %s", method)
	return nil
}

// TestSame: what a worker does is what is done without one, to the letter.
func TestSame(t *testing.T) {
	t.Parallel()
	p := newTestPool(t, &company{})
	called := map[string]bool{}
	tell := func(do func(method, params string) string) string {
		dir := folder(t)
		write(t, dir+"/f", "one\ntwo\n")
		if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, r := range requests {
			called[r.method] = true
			params := strings.ReplaceAll(r.params, "@", uri(t, dir).String())
			fmt.Fprintf(&all, "%s %s: %s\n", r.method, r.params, do(r.method, params))
		}
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			content := ""
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(path)
				content = fmt.Sprint(string(b), err)
			}
			fmt.Fprintln(&all, path, info.Mode(), content)
			return nil
		})
		// What is not the same by nature.
		text := strings.ReplaceAll(all.String(), uri(t, dir).String(), "@")
		text = strings.ReplaceAll(text, dir, "@")
		return times.ReplaceAllString(text, `AtMs":…`)
	}
	confined := tell(func(method, params string) string { return confinedCall(t, p, method, params) })
	direct := tell(func(method, params string) string {
		done, err := operations[method](t.Context(), files.New(new(files.Budget), nil), []byte(params))
		if err != nil {
			return describe(err)
		}
		if done.file == nil {
			return string(done.result)
		}
		defer done.file.Close()
		return held(t, method, done.file)
	})
	if confined != direct {
		t.Errorf("by a worker:\n%s\nwithout:\n%s", confined, direct)
	}
	for method := range operations {
		if !called[method] {
			t.Errorf("%s is not tested", method)
		}
	}
}

// confinedCall carries out a request by the pool.
func confinedCall(t *testing.T, p *Pool, method, raw string) string {
	t.Helper()
	params := decode(t, method, raw)
	*asked(params) = within(t, "/")
	switch method {
	case protocol.MethodReadFile, protocol.MethodOpenFile, protocol.MethodWriteFile:
		file, err := p.Open(t.Context(), method, params)
		if err != nil {
			return describe(err)
		}
		defer file.Close()
		return held(t, method, file)
	}
	result, err := p.Append(t.Context(), []byte("before"), method, params)
	rest, kept := bytes.CutPrefix(result, []byte("before"))
	if !kept || err != nil && len(rest) > 0 {
		t.Errorf("%s has appended %q", method, result)
	}
	if err != nil {
		return describe(err)
	}
	return string(rest)
}

// held tells what can be done with an open file.
func held(t *testing.T, method string, file *os.File) string {
	t.Helper()
	content, err := io.ReadAll(file)
	_, writeErr := file.WriteAt([]byte(method), 0)
	flags, _ := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0)
	return fmt.Sprintf("%q %v %v, %v", content, errors.Is(err, unix.EBADF), errors.Is(writeErr, unix.EBADF), flags&unix.FD_CLOEXEC != 0)
}

func describe(err error) string {
	wire := fault.Wire(err)
	return fmt.Sprintf("%d %s", wire.Code, wire.Message)
}
