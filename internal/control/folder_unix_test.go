//go:build unix

package control

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestFolderAdvice: nobody is told to change or to remove a folder that others may
// need as it is; only one of those that we make by default is to be closed.
func TestFolderAdvice(t *testing.T) {
	uid := os.Geteuid()
	own := "airlock-" + strconv.Itoa(uid)
	const other = 65534
	for _, test := range []struct {
		name  string
		mode  fs.FileMode
		here  bool // it is the working directory
		owner int
		uid   int
		close bool // the advice is to close it
		new   bool // the advice is a new folder in it
	}{
		{"shared", 0o755, false, uid, uid, false, true},
		{"shared", 0o777 | fs.ModeSticky, false, uid, uid, false, true},
		{own, 0o755, false, uid, uid, true, false},
		{"airlock", 0o750, false, uid, uid, true, false},
		{own, 0o777 | fs.ModeSticky, false, uid, uid, false, true},
		{own, 0o755, true, uid, uid, false, true},
		{own, 0o755, false, other, uid, false, false},
		{"shared", 0o777 | fs.ModeSticky, false, other, uid, false, false},
		{"shared", 0o777 | fs.ModeSticky, false, 0, other, false, true}, // as /tmp is to everybody
		{"shared", 0o755, false, 0, other, false, false},
	} {
		if (test.owner != uid || test.uid != uid) && uid != 0 {
			continue
		}
		dir := filepath.Join(t.TempDir(), test.name)
		must(t, os.Mkdir(dir, 0o700), os.Chown(dir, test.owner, -1), os.Chmod(dir, test.mode))
		if test.here {
			t.Chdir(dir)
		}
		folder, err := openFolder(dir, test.uid, true)
		if err == nil {
			folder.Close()
			t.Errorf("%v is good enough", test)
			continue
		}
		text := err.Error()
		if strings.Contains(text, "chmod 700 "+dir) != test.close || strings.Contains(text, "remove") {
			t.Errorf("%v: %s", test, text)
		}
		_, proposed, found := strings.Cut(text, ": --control-socket ")
		if found != test.new {
			t.Errorf("%v: %s", test, text)
		}
		if found { // it works
			l, err := Listen(Config{Path: proposed})
			if err != nil {
				t.Errorf("%v: it proposes %q: %v", test, proposed, err)
				continue
			}
			l.Close()
		}
	}
}
