package files

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// asNobody does something without rights of root to files. Only this thread loses
// them, so that it must be done in this goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const nobody = 65534
		unix.Setfsuid(nobody)
		defer unix.Setfsuid(0)
	}
	do()
}

func TestWithoutRights(t *testing.T) {
	denied := refused{protocol.CodeInvalidRequest, "Permission denied (os error 13)"}
	f := connection(t)
	dir := folder(t)
	open := func(path string, mode os.FileMode) { must(t, os.Chmod(path, mode)) }
	for at := dir; at != "/tmp" && at != "/"; at = at[:max(1, lastSlash(at))] {
		open(at, 0o755)
	}
	put(t, dir+"/closed/f", "x")
	put(t, dir+"/file", "x")
	put(t, dir+"/listed/f", "x")
	open(dir+"/closed", 0)
	open(dir+"/file", 0)
	open(dir+"/listed", 0o744)
	asNobody(t, func() {
		for name, operation := range operations(t, f) {
			if name == "walk" {
				continue // other goroutines list
			}
			check(t, name+" in a closed directory", operation(uri(t, dir+"/closed/f")), denied)
		}
		for _, name := range []string{"read", "open", "write", "replace", "remove"} {
			check(t, name, operations(t, f)[name](uri(t, dir+"/file")), denied)
		}
		entries, err := list(t.Context(), dir+"/listed", true, 10)
		if err != nil || len(entries) > 0 {
			t.Errorf("of a directory whose entries can't be reached: got %v %v", entries, err)
		}
		_, err = list(t.Context(), dir+"/closed", true, 10)
		check(t, "list", err, denied)
	})
	open(dir+"/closed", 0o755)
}

func lastSlash(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return i
		}
	}
	return 0
}
