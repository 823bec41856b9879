package files

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// TestNoFollow is the table of what requests say that must not follow links.
func TestNoFollow(t *testing.T) {
	ctx := t.Context()
	f := connection(t)
	operations := map[string]func(protocol.PathURI) error{
		"read": func(u protocol.PathURI) error {
			_, err := readWhole(ctx, f, nil, &protocol.ReadFileParams{Path: u, FollowSymlinks: no()})
			return err
		},
		"write": func(u protocol.PathURI) error {
			_, err := f.WriteFile(ctx, &protocol.WriteFileParams{
				Path: u, FollowSymlinks: no(), DataBase64: protocol.FileData{Bytes: []byte("new")},
			})
			return err
		},
		"metadata": func(u protocol.PathURI) error {
			_, err := f.GetMetadata(ctx, &protocol.GetMetadataParams{Path: u, FollowSymlinks: no()})
			return err
		},
		"mkdir": func(u protocol.PathURI) error {
			_, err := f.CreateDirectory(ctx, &protocol.CreateDirectoryParams{Path: u, FollowSymlinks: no()})
			return err
		},
		"mkdir one": func(u protocol.PathURI) error {
			_, err := f.CreateDirectory(ctx, &protocol.CreateDirectoryParams{Path: u, FollowSymlinks: no(), Recursive: no()})
			return err
		},
		"remove": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, FollowSymlinks: no(), Recursive: no()})
			return err
		},
		"remove strictly": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, FollowSymlinks: no(), Recursive: no(), Force: no()})
			return err
		},
		"remove all": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, FollowSymlinks: no()})
			return err
		},
		"chmod": func(u protocol.PathURI) error {
			_, err := f.Chmod(ctx, &protocol.ChmodParams{Path: u, FollowSymlinks: no(), Mode: 0o700})
			return err
		},
	}
	tests := []struct {
		name string // of what is asked for
		all  refused
		want map[string]refused
	}{
		{name: "f", want: map[string]refused{"mkdir": noDirectory, "mkdir one": exists}},
		{name: "new", all: noFile, want: map[string]refused{"write": fine, "mkdir": fine, "mkdir one": fine, "remove": fine}},
		{name: "new/x", all: noFile, want: map[string]refused{"mkdir": fine, "remove": fine}},
		{name: "f/x", all: noDirectory},
		{name: "d", want: map[string]refused{
			"read": notRegular, "write": isDirectory, "mkdir one": exists, "remove": notEmpty, "remove strictly": notEmpty,
		}},
		{name: "empty", want: map[string]refused{"read": notRegular, "write": isDirectory, "mkdir one": exists}},
		{name: "link", all: hasLink, want: map[string]refused{
			"read": loop, "write": loop, "mkdir": noDirectory, "mkdir one": exists,
		}},
		{name: "gone", all: hasLink, want: map[string]refused{
			"read": loop, "write": loop, "mkdir": noDirectory, "mkdir one": exists,
		}},
		{name: "dlink", all: hasLink, want: map[string]refused{
			"read": loop, "write": loop, "mkdir": noDirectory, "mkdir one": exists,
		}},
		{name: "dlink/x", all: noDirectory},
		{name: "dlink/new/new", all: noDirectory},
		{name: "fifo", want: map[string]refused{
			"read": notRegular, "write": noDevice, "mkdir": noDirectory, "mkdir one": exists,
		}},
		{name: strings.Repeat("x", 256), all: tooLong},
		{name: strings.Repeat("x/", 2048), all: tooLong},
		{name: "/", all: noEntry, want: map[string]refused{
			"metadata": fine, "mkdir": fine, "mkdir one": {protocol.CodeInternal, "directory already exists"},
		}},
	}
	for _, test := range tests {
		for name, operation := range operations {
			if test.name == "/" && name == "chmod" {
				continue // would work
			}
			dir := folder(t)
			put(t, dir+"/f", "x")
			put(t, dir+"/d/x", "x")
			must(t, os.Mkdir(dir+"/empty", 0o755))
			must(t, unix.Mkfifo(dir+"/fifo", 0o600))
			link(t, "f", dir+"/link")
			link(t, "d", dir+"/dlink")
			link(t, "nothing", dir+"/gone")

			path := dir + "/" + test.name
			if test.name == "/" {
				path = "/"
			}
			want, found := test.want[name]
			switch {
			case name == "remove all":
				want = refused{protocol.CodeInternal, "recursive no-follow removal is unsupported"}
			case !found:
				want = test.all
			}
			check(t, name+" "+test.name, operation(uri(t, path)), want)
			if got := content(t, dir+"/d/x"); got != "x" || !missing(dir+"/nothing") {
				t.Errorf("%s %s has gone through a link", name, test.name)
			}
		}
	}
}

// TestNoFollowWorks: what is done is what is done otherwise.
func TestNoFollowWorks(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	put(t, dir+"/d/f", "something longer")
	u := uri(t, dir+"/d/f")
	_, err := f.WriteFile(t.Context(), &protocol.WriteFileParams{Path: u, FollowSymlinks: no(), DataBase64: protocol.FileData{Bytes: []byte("new")}})
	must(t, err)
	encoded, err := readWhole(t.Context(), f, nil, &protocol.ReadFileParams{Path: u, FollowSymlinks: no()})
	must(t, err)
	if got := string(decode[protocol.ReadFileResult](t, encoded).DataBase64); got != "new" {
		t.Errorf("got %q", got)
	}
	_, err = f.CreateDirectory(t.Context(), &protocol.CreateDirectoryParams{Path: uri(t, dir+"/a/b/c"), FollowSymlinks: no()})
	must(t, err)
	_, err = f.Remove(t.Context(), &protocol.RemoveParams{Path: uri(t, dir+"/a/b/c"), FollowSymlinks: no(), Recursive: no()})
	must(t, err)
	if missing(dir+"/a/b") || !missing(dir+"/a/b/c") {
		t.Error("the directory is still there, or its parent is not")
	}
}

// TestDirectoriesAreNoLinks: on this all trust that must not be led astray.
func TestDirectoriesAreNoLinks(t *testing.T) {
	path := folder(t)
	put(t, path+"/d/x", "")
	link(t, "d", path+"/link")
	in, err := (*dir)(nil).openDir(path)
	must(t, err)
	defer in.Close()
	for name, open := range map[string]func(string) (*dir, error){"sub": in.sub, "pass": in.pass, "makeSub": in.makeSub} {
		d, err := open("d")
		must(t, err)
		d.Close()
		want := noDirectory
		if name == "makeSub" {
			want = exists
		}
		_, err = open("link")
		check(t, name, err, want)
	}
}
