package files

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/airlock-exec/airlock/protocol"
)

func TestGetMetadata(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	began := time.Now().Add(-time.Second).UnixMilli()
	put(t, dir+"/f", "12345")
	must(t, os.Mkdir(dir+"/d", 0o755))
	link(t, "f", dir+"/link")
	link(t, "d", dir+"/dlink")
	must(t, os.Chtimes(dir+"/f", time.Time{}, time.Unix(1700000000, 500_999_999)))
	const modified = 1700000000500
	file := protocol.FileMetadata{IsFile: true, Size: 5, ModifiedAtMs: modified}
	fileLink := file
	fileLink.IsSymlink = true
	for _, test := range []struct {
		name   string
		follow *bool
		want   protocol.FileMetadata
	}{
		{"f", nil, file},
		{"f", no(), file},
		{"link", nil, fileLink},
		{"d", nil, protocol.FileMetadata{IsDirectory: true}},
		{"d", no(), protocol.FileMetadata{IsDirectory: true}},
		{"dlink", nil, protocol.FileMetadata{IsDirectory: true, IsSymlink: true}},
	} {
		got, err := f.GetMetadata(t.Context(), &protocol.GetMetadataParams{Path: uri(t, dir+"/"+test.name), FollowSymlinks: test.follow})
		must(t, err)
		if born := got.CreatedAtMs; born != 0 && (born < began || born > time.Now().UnixMilli()) {
			t.Errorf("%s: made at %d, which is not now", test.name, born)
		}
		got.CreatedAtMs = 0
		if got.IsDirectory {
			got.Size, got.ModifiedAtMs = 0, 0
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestTimesBefore1970 are not known, unless links are not followed.
func TestTimesBefore1970(t *testing.T) {
	path := put(t, folder(t)+"/f", "")
	must(t, os.Chtimes(path, time.Time{}, time.Unix(-3, 750_500_000)))
	for _, test := range []struct {
		follow *bool
		want   int64
	}{{nil, 0}, {no(), -2250}} {
		got, err := connection(t).GetMetadata(t.Context(), &protocol.GetMetadataParams{Path: uri(t, path), FollowSymlinks: test.follow})
		must(t, err)
		if got.ModifiedAtMs != test.want {
			t.Errorf("got %d, want %d", got.ModifiedAtMs, test.want)
		}
	}
}

func TestCanonicalize(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	put(t, dir+"/d/f\xff #é", "")
	link(t, "d", dir+"/dlink")
	link(t, "dlink/f\xff #é", dir+"/link")
	want := uri(t, dir).String() + "/d/f%FF%20%23%C3%A9"
	for _, name := range []string{"link", "dlink/f\xff #é", "d/f\xff #é"} {
		got, err := f.Canonicalize(t.Context(), &protocol.CanonicalizeParams{Path: uri(t, dir+"/"+name)})
		must(t, err)
		if got.Path.String() != want {
			t.Errorf("%q: got %s, want %s", name, got.Path, want)
		}
	}
	if got, err := f.Canonicalize(t.Context(), &protocol.CanonicalizeParams{Path: parse(t, "file:///")}); err != nil || got.Path.String() != "file:///" {
		t.Errorf("the root: got %v %v", got, err)
	}
}

// TestCanonicalizeLongChains: as many links are followed as the system follows.
func TestCanonicalizeLongChains(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("others follow other numbers of links")
	}
	f := connection(t)
	dir := folder(t)
	name := "f"
	put(t, dir+"/f", "")
	for i := range 41 {
		next := "l" + strconv.Itoa(i)
		link(t, name, dir+"/"+next)
		name = next
	}
	_, err := f.Canonicalize(t.Context(), &protocol.CanonicalizeParams{Path: uri(t, dir+"/l39")})
	check(t, "40 links", err, fine)
	_, err = f.Canonicalize(t.Context(), &protocol.CanonicalizeParams{Path: uri(t, dir+"/l40")})
	check(t, "41 links", err, loop)
}
