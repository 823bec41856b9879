package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// refused is what a request can be answered with, other than a result.
type refused struct {
	code protocol.Code
	text string
}

// What the system says.
var (
	noFile       = refused{protocol.CodeNotFound, "No such file or directory (os error 2)"}
	noDirectory  = refused{protocol.CodeInternal, "Not a directory (os error 20)"}
	isDirectory  = refused{protocol.CodeInternal, "Is a directory (os error 21)"}
	exists       = refused{protocol.CodeInternal, "File exists (os error 17)"}
	loop         = refused{protocol.CodeInternal, "Symbolic link loop (os error 40)"}
	tooLong      = refused{protocol.CodeInternal, "Filename too long (os error 36)"}
	noDevice     = refused{protocol.CodeInternal, "No such device or address (os error 6)"}
	notEmpty     = refused{protocol.CodeInternal, "Directory not empty (os error 39)"}
	badHandle    = refused{protocol.CodeInternal, "Bad file descriptor (os error 9)"}
	badArgument  = refused{protocol.CodeInvalidRequest, "Invalid argument (os error 22)"}
	notRegular   = refused{protocol.CodeInvalidRequest, "path is not a regular file"}
	hasLink      = refused{protocol.CodeInvalidRequest, "path contains a symbolic link"}
	noEntry      = refused{protocol.CodeInvalidRequest, "path must name an entry"}
	intoItself   = refused{protocol.CodeInvalidRequest, "fs/copy cannot copy a directory to itself or one of its descendants"}
	fine         = refused{}
	foreignDrive = refused{protocol.CodeInvalidRequest, "'file:///C:/x' is invalid on 'linux'"}
)

func notFile(path string) refused {
	return refused{protocol.CodeInvalidRequest, "path `" + path + "` is not a file"}
}

// check fails the test unless a request has been refused as wanted.
func check(t *testing.T, what string, err error, want refused) {
	t.Helper()
	got := fine
	if err != nil {
		wire := fault.Wire(err)
		got = refused{wire.Code, wire.Message}
	}
	if got != want {
		t.Errorf("%s: got %d %q, want %d %q", what, got.code, got.text, want.code, want.text)
	}
}

// must fails the test at once if there is an error.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// uri returns the URI of a path.
func uri(tb testing.TB, path string) protocol.PathURI {
	tb.Helper()
	u, err := protocol.PathURIFromNative(path)
	must(tb, err)
	return u
}

// parse returns a URI as it is spelled.
func parse(tb testing.TB, text string) protocol.PathURI {
	tb.Helper()
	u, err := protocol.ParsePathURI(text)
	must(tb, err)
	return u
}

// decode returns what has been appended.
func decode[T any](tb testing.TB, encoded []byte) *T {
	tb.Helper()
	v, err := protocol.Decode[T](encoded)
	must(tb, err)
	return &v
}

// connection returns the files of a connection, which have all been closed when
// the test has ended.
func connection(tb testing.TB) *Files {
	f := New(new(Budget), nil)
	tb.Cleanup(f.Close)
	return f
}

// folder returns an empty directory, whose path has no symbolic links. When the
// test has ended, nothing in it may be open any more.
func folder(tb testing.TB) string {
	tb.Helper()
	path, err := filepath.EvalSymlinks(tb.TempDir())
	must(tb, err)
	tb.Cleanup(func() {
		if open := openBelow(path); len(open) > 0 {
			tb.Errorf("still open: %q", open)
		}
	})
	return path
}

// openBelow returns what is open in a directory.
func openBelow(path string) []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	var open []string
	const folder = "/proc/self/fd"
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil && strings.HasPrefix(name, path) {
			open = append(open, name)
		}
	}
	return open
}

// put makes a file with its directories.
func put(tb testing.TB, path, data string) string {
	tb.Helper()
	must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tb, os.WriteFile(path, []byte(data), 0o644))
	return path
}

func link(tb testing.TB, target, path string) string {
	tb.Helper()
	must(tb, os.Symlink(target, path))
	return path
}

// content returns what is in a file.
func content(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	must(tb, err)
	return string(data)
}

func no() *bool {
	value := false
	return &value
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}
