package search

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/files/regular"
	"github.com/airlock-exec/airlock/protocol"
)

// TestNothingBlocks has files that one would wait for.
func TestNothingBlocks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{"f": "foo"})
	if err := unix.Mkfifo(root+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}, never)
	if len(r.matches) != 1 || len(r.errors) > 0 {
		t.Errorf("%v, %v", r.matches, r.errors)
	}
	for _, path := range []string{root + "/fifo", "/dev/zero", "/dev/tty"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		want := "path `" + path + "` is not a file"
		_, err := Search(t.Context(), &protocol.SearchParams{Path: uri(t, path), Pattern: "foo"})
		if wire, ok := errors.AsType[*protocol.Error](err); !ok || wire.Code != protocol.CodeInvalidRequest || wire.Message != want {
			t.Errorf("%s: %v", path, err)
		}
		_, err = ReadRange(t.Context(), &protocol.ReadRangeParams{Path: uri(t, path), Bytes: &protocol.ByteRange{Length: 1}})
		if wire, ok := errors.AsType[*protocol.Error](err); !ok || wire.Code != protocol.CodeInvalidRequest || wire.Message != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestKernelLog has a regular file whose readers wait: it must not be waited for.
func TestKernelLog(t *testing.T) {
	t.Parallel()
	const path = "/proc/kmsg"
	if f, err := regular.Open(path); err != nil {
		t.Skip(err)
	} else {
		f.Close()
	}
	got, err := Search(t.Context(), &protocol.SearchParams{Path: uri(t, path), Pattern: "\x01\x02"})
	if err != nil {
		t.Error(got, err)
	}
}

// TestMadeUpByKernel has files that say they are empty.
func TestMadeUpByKernel(t *testing.T) {
	t.Parallel()
	const path = "/proc/self/status"
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	got, err := Search(t.Context(), &protocol.SearchParams{Path: uri(t, path), Pattern: "^Pid:", Regexp: true})
	if err != nil || len(got.Matches) != 1 {
		t.Error(got, err)
	}
	part, err := ReadRange(t.Context(), &protocol.ReadRangeParams{Path: uri(t, path), Lines: &protocol.LineRange{First: 1, Count: 1}})
	first, _, _ := strings.Cut(string(whole), "\n")
	if err != nil || string(part.DataBase64) != first+"\n" || part.EOF {
		t.Error(part, err)
	}
	part, err = ReadRange(t.Context(), &protocol.ReadRangeParams{Path: uri(t, path), Bytes: &protocol.ByteRange{Offset: 1, Length: 1 << 20}})
	if err != nil || !part.EOF || len(part.DataBase64) < 100 {
		t.Error(part, err)
	}
}

// TestLinksAreNotFollowed puts links in the place of what has been listed.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files(t, root, map[string]string{"d/f": "foo", "flink": "-> d/f", "dlink": "-> d"})
	s := &search{root: root}
	if f, err := s.open("flink"); err == nil {
		f.Close()
		t.Error("a link to a file is followed")
	}
	if f, err := openDir(root+"/dlink", false); err == nil {
		f.Close()
		t.Error("a link to a directory is followed")
	}
}

// TestUnreadable needs rights that can be refused.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	root := t.TempDir()
	files(t, root, map[string]string{"d/f": "foo", "f": "foo", "g": "foo"})
	for _, path := range []string{root + "/d", root + "/f"} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(root+"/d", 0o755) })
	r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, root), Pattern: "foo"}, never)
	if len(r.matches) != 1 || len(r.errors) != 2 || r.errors[0].Message != "Permission denied (os error 13)" {
		t.Errorf("%v, %v", r.matches, r.errors)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// TestNoDescriptorIsLeft runs alone, as it counts those of the process.
func TestNoDescriptorIsLeft(t *testing.T) {
	root := t.TempDir()
	files(t, root, sample)
	if err := unix.Mkfifo(root+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	for _, path := range []string{"", "/a.txt", "/fifo", "/nothing"} {
		p := protocol.SearchParams{Path: uri(t, root+path), Pattern: "foo", IgnoreFiles: true, MaxMatches: new(uint64(1))}
		_, _ = Search(t.Context(), &p)
		_, _ = ReadRange(t.Context(), &protocol.ReadRangeParams{Path: uri(t, root+path), Lines: &protocol.LineRange{First: 2, Count: 1}})
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestMemory searches a large file, and reads its last line, in little memory.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much")
	}
	const size = 256 << 20
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, []byte(strings.Repeat("x\n", headBytes)), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("\nfoo"), size); err != nil { // a hole before it
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := all(t.Context(), t, protocol.SearchParams{Path: uri(t, path), Pattern: "foo"}, never)
	if len(r.matches) != 1 || r.matches[0].Line != headBytes+2 {
		t.Errorf("%v, %v", r.matches, r.errors)
	}
	part, err := ReadRange(t.Context(), &protocol.ReadRangeParams{
		Path: uri(t, path), Lines: &protocol.LineRange{First: headBytes + 2, Count: 1},
	})
	if err != nil || string(part.DataBase64) != "foo" || part.Offset != size+1 || !part.EOF {
		t.Error(part, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes have been allocated", used)
	}
}
