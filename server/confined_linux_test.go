package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/protocol"
)

// A policy, its parts with "@" for the URI of a folder.
const (
	readAll   = `{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}`
	writeHere = `{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}`
)

// policy returns a sandbox of some entries, that are about a folder.
func policy(uri string, entries ...string) string {
	return strings.ReplaceAll(`{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[`+strings.Join(entries, ",")+
		`]},"network":"restricted"},"cwd":"@","workspaceRoots":["@"],"windowsSandboxLevel":"disabled"}`, "@", uri)
}

func entry(path, access string) string {
	return fmt.Sprintf(`{"path":{"type":"path","path":%q},"access":%q}`, path, access)
}

// confinedServer returns a server that can confine operations on files.
func confinedServer(t *testing.T) *Server {
	t.Helper()
	s := newServer(t, Config{})
	if s.sandbox == nil {
		t.Skip("there is no sandbox here")
	}
	w := dial(t, s).open("")
	_, uri := folder(t)
	if got := w.call(protocol.MethodReadFile, `{"path":"file:///etc/passwd","sandbox":`+policy(uri, readAll, entry(uri, "deny"))+`}`); got.Error != nil {
		t.Skipf("files can't be confined here: %s", got.text)
	}
	return s
}

// TestFileMethodsConfined calls each method in a sandbox that allows what it does:
// the answers are those without one.
func TestFileMethodsConfined(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	secret, secretURI := folder(t)
	writeFile(t, filepath.Join(secret, "s"), "secret")
	w := listen(t, s)().open("")
	sandbox := `,"sandbox":` + policy(uri, readAll, writeHere, entry(secretURI, "deny")) + `}`
	for _, c := range fileCases {
		c = c.in(uri)
		switch c.method {
		case protocol.MethodWatch:
			w.wantRefused(c.method, strings.TrimSuffix(c.params, "}")+sandbox, -32600, "a watch can't be confined")
			continue
		case protocol.MethodUnwatch, protocol.MethodWatchMissing:
			continue
		}
		got := w.call(c.method, strings.TrimSuffix(c.params, "}")+sandbox).text
		rest, found := got, true
		for part := range strings.SplitSeq(strings.Trim(c.answer, "{}"), "…") {
			if found {
				_, rest, found = strings.Cut(rest, part)
			}
		}
		if !found {
			t.Errorf("%s %s\n got %s\nwant %s", c.method, c.params, got, c.answer)
		}
	}
	wantContent(t, filepath.Join(path, "c", "g"), "one\n123\n")
	if _, err := os.Stat(filepath.Join(path, "d")); !os.IsNotExist(err) {
		t.Errorf("the folder has not been removed: %v", err)
	}
}

// TestFileDenials: what the client is told of what its sandbox denies.
func TestFileDenials(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	outside, outsideURI := folder(t)
	for _, name := range []string{"ws/hidden", "ws/.git"} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(outside, "o"), "outside")
	writeFile(t, filepath.Join(path, "ws/hidden/h"), "hidden")
	writeFile(t, filepath.Join(path, "ws/.env"), "K=1")
	writeFile(t, filepath.Join(path, "ws/plain"), "plain")
	if err := os.Symlink(outside, filepath.Join(path, "ws/link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(path, "ws/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws := uri + "/ws"
	all := policy(ws, readAll, writeHere, entry(ws+"/hidden", "deny"),
		`{"path":{"type":"glob_pattern","pattern":"**/.env"},"access":"deny"}`)
	narrow := policy(ws, `{"path":{"type":"special","value":{"kind":"minimal"}},"access":"read"}`, writeHere)
	const (
		readOnly = `{"error":{"code":-32603,"message":"Read-only file system (os error 30)"}}`
		denied   = `{"error":{"code":-32600,"message":"Permission denied (os error 13)"}}`
		missing  = `{"error":{"code":-32004,"message":"No such file or directory (os error 2)"}}`
		fine     = `{"result":{}}`
	)
	walk := `"options":{"maxDepth":9,"maxDirectories":9,"maxEntries":99,"followDirectorySymlinks":false}`
	w := dial(t, s).open("")
	for _, test := range []struct{ what, method, params, sandbox, want string }{
		{"a new file outside", protocol.MethodWriteFile, `"path":"` + outsideURI + `/n","dataBase64":""`, all, readOnly},
		{"a file outside", protocol.MethodWriteFile, `"path":"` + outsideURI + `/o","dataBase64":""`, all, readOnly},
		{"a file behind a link", protocol.MethodWriteFile, `"path":"` + ws + `/link/o","dataBase64":""`, all, readOnly},
		{"a file to write by blocks", protocol.MethodOpenFile, `"handleId":"h","path":"` + outsideURI + `/o","mode":"replace"`, all, readOnly},
		{"the same, kept", protocol.MethodOpenFile, `"handleId":"h","path":"` + outsideURI + `/o","mode":"replace","airlock":{"keep":true}`, all, readOnly},
		{"a protected file", protocol.MethodWriteFile, `"path":"` + ws + `/.git/x","dataBase64":""`, all, readOnly},
		{"a protected file that would be new", protocol.MethodWriteFile, `"path":"` + ws + `/.codex/x","dataBase64":""`, all, readOnly},
		{"a folder outside", protocol.MethodCreateDirectory, `"path":"` + outsideURI + `/d"`, all, readOnly},
		{"something outside removed", protocol.MethodRemove, `"path":"` + outsideURI + `/o"`, all, readOnly},
		{"a copy to the outside", protocol.MethodCopy, `"sourcePath":"` + ws + `/plain","destinationPath":"` + outsideURI + `/c","recursive":false`, all, readOnly},
		{"other rights outside", protocol.MethodChmod, `"path":"` + outsideURI + `/o","mode":511`, all, readOnly},
		{"a copy of the hidden", protocol.MethodCopy, `"sourcePath":"` + ws + `/.env","destinationPath":"` + ws + `/c","recursive":false`, all, denied},
		{"a hidden file", protocol.MethodReadFile, `"path":"` + ws + `/.env"`, all, denied},
		{"a hidden file by blocks", protocol.MethodOpenFile, `"handleId":"h","path":"` + ws + `/.env"`, all, denied},
		{"a part of it", protocol.MethodReadRange, `"path":"` + ws + `/.env","bytes":{"offset":0,"length":9}`, all, denied},
		{"a file in a hidden folder", protocol.MethodReadFile, `"path":"` + ws + `/hidden/h"`, all, denied},
		{"a hidden folder", protocol.MethodReadDirectory, `"path":"` + ws + `/hidden"`, all, denied},
		{
			"a walk through it", protocol.MethodWalk, `"path":"` + ws + `/hidden",` + walk, all,
			`{"result":{"entries":[],"errors":[{"path":"` + ws + `/hidden","message":"Permission denied (os error 13)"}],"truncated":false}}`,
		},
		{"a search for it", protocol.MethodSearch, `"path":"` + ws + `","pattern":"K=1|hidden","regex":true,"include":[".env","h"]`, all, "Permission denied"},
		{"what is not there", protocol.MethodReadFile, `"path":"` + outsideURI + `/o"`, narrow, missing},
		{"what is there", protocol.MethodReadFile, `"path":"` + ws + `/plain"`, narrow, `{"result":{"dataBase64":"cGxhaW4="}}`},
		{"a link to what is not there", protocol.MethodReadFile, `"path":"` + ws + `/link/o"`, narrow, missing},
		{"a pipe", protocol.MethodReadFile, `"path":"` + ws + `/pipe"`, all, "-32600"},
		{"a protected folder", protocol.MethodCreateDirectory, `"path":"` + ws + `/.git"`, all, fine},
		{"a file here", protocol.MethodWriteFile, `"path":"` + ws + `/new","dataBase64":"bmV3"`, all, fine},
	} {
		if got := w.call(test.method, `{`+test.params+`,"sandbox":`+test.sandbox+`}`).text; !strings.Contains(got, strings.Trim(test.want, "{}")) {
			t.Errorf("%s: got %s, want %s", test.what, got, test.want)
		}
	}
	wantContent(t, filepath.Join(outside, "o"), "outside")
	wantContent(t, filepath.Join(path, "ws/new"), "new")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside is %v (%v)", entries, err)
	}
}

// TestFilePolicyOfTheMoment: an operation is confined by what its policy comes to
// when it is asked for, not by what that was before.
func TestFilePolicyOfTheMoment(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	w := dial(t, s).open("")
	sandbox := `,"sandbox":` + policy(uri+"/ws", readAll, writeHere, `{"path":{"type":"glob_pattern","pattern":"**/*.env"},"access":"deny"}`) + `}`
	read := func(name, want string) {
		t.Helper()
		w.want(protocol.MethodReadFile, `{"path":"`+uri+`/ws/`+name+`"`+sandbox, want)
	}
	put := func(name string) {
		t.Helper()
		w.want(protocol.MethodWriteFile, `{"path":"`+uri+`/ws/`+name+`","dataBase64":"eA=="`+sandbox, `{"result":{}}`)
	}
	ws := filepath.Join(path, "ws")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	const denied = `{"error":{"code":-32600,"message":"Permission denied (os error 13)"}}`
	put("a")
	writeFile(t, filepath.Join(ws, "new.env"), "secret")
	read("new.env", denied)
	read("a", `{"result":{"dataBase64":"eA=="}}`)
	// Another file in the place of one that is hidden.
	writeFile(t, filepath.Join(path, "other"), "secret")
	if err := os.Rename(filepath.Join(path, "other"), filepath.Join(ws, "new.env")); err != nil {
		t.Fatal(err)
	}
	read("new.env", denied)
	// Another folder in the place of the one that may be written.
	if err := os.Rename(ws, filepath.Join(path, "old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	put("b")
	wantContent(t, filepath.Join(ws, "b"), "x")
}

// TestFilesLeaveNothing: what it takes to protect what is not there is gone when an
// operation is answered.
func TestFilesLeaveNothing(t *testing.T) {
	t.Parallel()
	s := confinedServer(t)
	path, uri := folder(t)
	w := dial(t, s).open("")
	sandbox := `,"sandbox":` + policy(uri, readAll, writeHere, entry(uri+"/hidden", "deny")) + `}`
	for i := range 3 {
		w.want(protocol.MethodWriteFile, fmt.Sprintf(`{"path":"%s/f","dataBase64":""`, uri)+sandbox, `{"result":{}}`)
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
			t.Errorf("%d: in the folder is %v (%v)", i, entries, err)
		}
		w.want(protocol.MethodReadDirectory, `{"path":"`+uri+`"`+sandbox,
			`{"result":{"entries":[{"fileName":"f","isDirectory":false,"isFile":true}]}}`)
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
			t.Errorf("%d, after it has been looked at: in the folder is %v (%v)", i, entries, err)
		}
		w.want(protocol.MethodCreateDirectory, `{"path":"`+uri+`/.git","recursive":false`+sandbox,
			`{"error":{"code":-32603,"message":"File exists (os error 17)"}}`)
	}
}

// TestFilePolicyNeedsFolder: a policy that refers to its folder comes with one, also
// where it restricts nothing.
func TestFilePolicyNeedsFolder(t *testing.T) {
	t.Parallel()
	_, uri := folder(t)
	w := dial(t, newServer(t, Config{})).open("")
	sandbox := strings.Replace(policy(uri, readAll, writeHere), `"cwd":"`+uri+`",`, "", 1)
	for _, c := range fileCases {
		switch c.method {
		case protocol.MethodReadBlock, protocol.MethodWriteBlock, protocol.MethodCloseFile, protocol.MethodWatchMissing, protocol.MethodUnwatch:
			continue // they take none
		}
		w.want(c.method, strings.TrimSuffix(c.in(uri).params, "}")+`,"sandbox":`+sandbox+`}`,
			`{"error":{"code":-32602,"message":"file system sandbox context with dynamic permissions requires cwd"}}`)
	}
}
