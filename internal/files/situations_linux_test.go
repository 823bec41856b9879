package files

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// operations are the requests that have a single path.
func operations(tb testing.TB, f *Files) map[string]func(protocol.PathURI) error {
	ctx := tb.Context()
	return map[string]func(protocol.PathURI) error{
		"read": func(u protocol.PathURI) error {
			_, err := readWhole(ctx, f, nil, &protocol.ReadFileParams{Path: u})
			return err
		},
		"open": func(u protocol.PathURI) error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u, Mode: protocol.OpenRead})
			f.CloseFile(ctx, &protocol.CloseFileParams{HandleID: "h"})
			return err
		},
		"write": func(u protocol.PathURI) error {
			_, err := f.WriteFile(ctx, &protocol.WriteFileParams{Path: u})
			return err
		},
		"replace": func(u protocol.PathURI) error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u, Mode: protocol.OpenReplace})
			f.CloseFile(ctx, &protocol.CloseFileParams{HandleID: "h"})
			return err
		},
		"metadata": func(u protocol.PathURI) error {
			_, err := f.GetMetadata(ctx, &protocol.GetMetadataParams{Path: u})
			return err
		},
		"list": func(u protocol.PathURI) error {
			_, err := f.ReadDirectory(ctx, &protocol.ReadDirectoryParams{Path: u})
			return err
		},
		"walk": func(u protocol.PathURI) error {
			_, err := f.AppendWalk(ctx, nil, &protocol.WalkParams{Path: u, Options: everything})
			return err
		},
		"mkdir": func(u protocol.PathURI) error {
			_, err := f.CreateDirectory(ctx, &protocol.CreateDirectoryParams{Path: u})
			return err
		},
		"mkdir one": func(u protocol.PathURI) error {
			_, err := f.CreateDirectory(ctx, &protocol.CreateDirectoryParams{Path: u, Recursive: no()})
			return err
		},
		"canonicalize": func(u protocol.PathURI) error {
			_, err := f.Canonicalize(ctx, &protocol.CanonicalizeParams{Path: u})
			return err
		},
		"remove": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u})
			return err
		},
		"remove strictly": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, Force: no()})
			return err
		},
		"remove one": func(u protocol.PathURI) error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, Recursive: no()})
			return err
		},
	}
}

// TestSituations is the table of what each request says to what can be at a path.
func TestSituations(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, at string) string // returns the path that is asked for
		all  refused                              // unless want says otherwise
		want map[string]refused
	}{
		{
			name: "nothing",
			make: func(_ *testing.T, at string) string { return at },
			all:  noFile,
			want: map[string]refused{"write": fine, "replace": fine, "mkdir": fine, "mkdir one": fine, "remove": fine, "remove one": fine},
		},
		{
			name: "no parent",
			make: func(_ *testing.T, at string) string { return at + "/x" },
			all:  noFile,
			want: map[string]refused{"mkdir": fine, "remove": fine, "remove one": fine},
		},
		{
			name: "parent is a file",
			make: func(t *testing.T, at string) string { return put(t, at, "") + "/x" },
			all:  noDirectory,
		},
		{
			name: "directory",
			make: func(t *testing.T, at string) string { return filepath.Dir(put(t, at+"/x", "")) },
			want: map[string]refused{
				"read": notFile("AT"), "open": notFile("AT"), "write": isDirectory, "replace": isDirectory,
				"mkdir one": exists, "remove one": notEmpty,
			},
		},
		{
			name: "file",
			make: func(t *testing.T, at string) string { return put(t, at, "x") },
			want: map[string]refused{"list": noDirectory, "mkdir": exists, "mkdir one": exists},
		},
		{
			name: "pipe",
			make: func(t *testing.T, at string) string { must(t, unix.Mkfifo(at, 0o600)); return at },
			want: map[string]refused{
				"read": notFile("AT"), "open": notFile("AT"), "write": notFile("AT"), "replace": noDevice,
				"list": noDirectory, "mkdir": exists, "mkdir one": exists,
			},
		},
		{
			name: "pipe with a reader",
			make: func(t *testing.T, at string) string {
				must(t, unix.Mkfifo(at, 0o600))
				reader, err := os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0)
				must(t, err)
				t.Cleanup(func() { reader.Close() })
				return at
			},
			want: map[string]refused{
				"read": notFile("AT"), "open": notFile("AT"), "write": notFile("AT"), "replace": noDevice,
				"list": noDirectory, "mkdir": exists, "mkdir one": exists,
			},
		},
		{
			name: "socket",
			make: func(t *testing.T, at string) string {
				l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at})
				must(t, err)
				t.Cleanup(func() { l.Close() })
				return at
			},
			want: map[string]refused{
				"read": noDevice, "open": noDevice, "write": noDevice, "replace": noDevice,
				"list": noDirectory, "mkdir": exists, "mkdir one": exists,
			},
		},
		{
			name: "device",
			make: func(t *testing.T, at string) string { return link(t, "/dev/null", at) },
			want: map[string]refused{
				"read": notFile("AT"), "open": notFile("AT"), "write": notFile("AT"), "replace": notFile("AT"),
				"list": noDirectory, "mkdir": exists, "mkdir one": exists,
			},
		},
		{
			name: "link to a file",
			make: func(t *testing.T, at string) string { return link(t, filepath.Base(put(t, at+"2", "x")), at) },
			want: map[string]refused{"list": noDirectory, "mkdir": exists, "mkdir one": exists},
		},
		{
			name: "link to a directory",
			make: func(t *testing.T, at string) string { put(t, at+"2/x", ""); return link(t, at+"2", at) },
			want: map[string]refused{
				"read": notFile("AT"), "open": notFile("AT"), "write": isDirectory, "replace": isDirectory, "mkdir one": exists,
			},
		},
		{
			name: "link to nothing",
			make: func(t *testing.T, at string) string { return link(t, "gone", at) },
			all:  noFile,
			want: map[string]refused{
				"write": fine, "replace": fine, "mkdir": exists, "mkdir one": exists,
				"remove": fine, "remove one": fine, "remove strictly": fine,
			},
		},
		{
			name: "link to itself",
			make: func(t *testing.T, at string) string { return link(t, filepath.Base(at), at) },
			all:  loop,
			want: map[string]refused{
				"mkdir": exists, "mkdir one": exists, "remove": fine, "remove one": fine, "remove strictly": fine,
			},
		},
		{
			name: "long name",
			make: func(_ *testing.T, at string) string { return filepath.Dir(at) + "/" + strings.Repeat("x", 256) },
			all:  tooLong,
		},
		{
			name: "long path",
			make: func(_ *testing.T, at string) string { return filepath.Dir(at) + strings.Repeat("/x", 2048) },
			all:  tooLong,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := connection(t)
			for name, operation := range operations(t, f) {
				at := filepath.Join(folder(t), "at")
				path := test.make(t, at)
				want, found := test.want[name]
				if !found {
					want = test.all
				}
				want.text = strings.ReplaceAll(want.text, "`AT`", "`"+at+"`")
				check(t, name, operation(uri(t, path)), want)
			}
		})
	}
}

// TestTrailingSlash: it makes no difference.
func TestTrailingSlash(t *testing.T) {
	f := connection(t)
	path := put(t, filepath.Join(folder(t), "f"), "x")
	for name, operation := range operations(t, f) {
		if name == "remove strictly" || name == "remove" || name == "remove one" {
			continue
		}
		plain := operation(uri(t, path))
		slashed := operation(parse(t, uri(t, path).String()+"//"))
		if (plain == nil) != (slashed == nil) {
			t.Errorf("%s: %v without a slash, %v with", name, plain, slashed)
		}
	}
}

// TestForeignPaths: what is no path here is told, and nothing is touched.
func TestForeignPaths(t *testing.T) {
	f := connection(t)
	for name, operation := range operations(t, f) {
		check(t, name, operation(parse(t, "file:///C:/x")), foreignDrive)
		server := foreignDrive
		server.text = "'file://server/share/x' is invalid on 'linux'"
		check(t, name, operation(parse(t, "file://server/share/x")), server)
	}
}

// TestEncodedNames: what is encoded is decoded once, to any bytes.
func TestEncodedNames(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	put(t, dir+"/d/f", "slash")
	put(t, dir+"/bad\xffname", "bytes")
	put(t, dir+"/100%41", "percent")
	for name, want := range map[string]string{"d%2Ff": "slash", "bad%FFname": "bytes", "100%2541": "percent", "d/%2e%2E/d/./f": "slash"} {
		encoded, err := readWhole(t.Context(), f, nil, &protocol.ReadFileParams{Path: parse(t, uri(t, dir).String()+"/"+name)})
		must(t, err)
		if got := string(decode[protocol.ReadFileResult](t, encoded).DataBase64); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestConfined: nothing is touched that must not be.
func TestConfined(t *testing.T) {
	f := connection(t)
	dir := folder(t)
	u := uri(t, put(t, dir+"/f", "x"))
	restricted := protocol.RestrictedSandbox(protocol.NetworkRestricted)
	ctx := t.Context()
	requests := map[string]func() error{
		"read": func() error {
			_, err := readWhole(ctx, f, nil, &protocol.ReadFileParams{Path: u, Sandbox: restricted})
			return err
		},
		"write": func() error {
			_, err := f.WriteFile(ctx, &protocol.WriteFileParams{Path: u, Sandbox: restricted})
			return err
		},
		"open": func() error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u, Sandbox: restricted})
			return err
		},
		"replace": func() error {
			_, err := f.Open(ctx, &protocol.OpenFileParams{HandleID: "h", Path: u, Mode: protocol.OpenReplace, Sandbox: restricted})
			return err
		},
		"mkdir": func() error {
			_, err := f.CreateDirectory(ctx, &protocol.CreateDirectoryParams{Path: uri(t, dir+"/d"), Sandbox: restricted})
			return err
		},
		"metadata": func() error {
			_, err := f.GetMetadata(ctx, &protocol.GetMetadataParams{Path: u, Sandbox: restricted})
			return err
		},
		"canonicalize": func() error {
			_, err := f.Canonicalize(ctx, &protocol.CanonicalizeParams{Path: u, Sandbox: restricted})
			return err
		},
		"list": func() error {
			_, err := f.ReadDirectory(ctx, &protocol.ReadDirectoryParams{Path: uri(t, dir), Sandbox: restricted})
			return err
		},
		"walk": func() error {
			_, err := f.AppendWalk(ctx, nil, &protocol.WalkParams{Path: u, Options: everything, Sandbox: restricted})
			return err
		},
		"remove": func() error {
			_, err := f.Remove(ctx, &protocol.RemoveParams{Path: u, Sandbox: restricted})
			return err
		},
		"copy": func() error {
			_, err := f.Copy(ctx, &protocol.CopyParams{SourcePath: u, DestinationPath: uri(t, dir+"/c"), Sandbox: restricted})
			return err
		},
		"rename": func() error {
			_, err := f.Rename(ctx, &protocol.RenameParams{SourcePath: u, DestinationPath: uri(t, dir+"/c"), Sandbox: restricted})
			return err
		},
		"chmod": func() error {
			_, err := f.Chmod(ctx, &protocol.ChmodParams{Path: u, Mode: 0, Sandbox: restricted})
			return err
		},
	}
	for name, request := range requests {
		if err := request(); err == nil || !strings.Contains(err.Error(), "sandbox") {
			t.Errorf("%s: got %v, want a refusal that names the sandbox", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	info, err := os.Stat(dir + "/f")
	must(t, err)
	if len(entries) != 1 || info.Size() != 1 || info.Mode() != 0o644 {
		t.Errorf("touched: %v %v", entries, info.Mode())
	}
}
