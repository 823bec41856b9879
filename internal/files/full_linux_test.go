package files

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// smallDisk returns a directory with room for 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := folder(t) + "/disk"
	must(t, os.Mkdir(dir, 0o755))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("can't mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil { // also if something is still open
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	f := connection(t)
	full := refused{protocol.CodeInternal, "No space left on device (os error 28)"}
	big := strings.Repeat("x", 1<<20)
	source := put(t, folder(t)+"/d/f", big+big)

	_, err := f.WriteFile(t.Context(), &protocol.WriteFileParams{Path: uri(t, dir+"/f"), DataBase64: protocol.FileData{Bytes: []byte(big + big)}})
	check(t, "write", err, full)
	must(t, remove(t, dir+"/f"))

	check(t, "copy a file", copyAll(t, source, dir+"/f"), full)
	must(t, remove(t, dir+"/f"))
	check(t, "copy a tree", copyAll(t, strings.TrimSuffix(source, "/f"), dir+"/tree"), full)
	must(t, remove(t, dir+"/tree"))

	must(t, open(t, f, "h", dir+"/f", protocol.OpenReplace))
	must(t, write(t, f, "h", 0, big[:1<<19]))
	check(t, "write a block", write(t, f, "h", 1<<19, big), full)
	must(t, write(t, f, "h", 0, "the file is still open"))
	must(t, closeFile(t, f, "h"))
	must(t, remove(t, dir+"/f"))

	_, err = f.WriteFile(t.Context(), &protocol.WriteFileParams{Path: uri(t, dir+"/f"), DataBase64: protocol.FileData{Bytes: []byte(big[:1<<19])}})
	check(t, "write what there is room for", err, fine)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
