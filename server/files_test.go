package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airlock-exec/airlock/internal/files/confined"
	"github.com/airlock-exec/airlock/protocol"
)

// fileCase is a request about files with its answer, where "@" stands for the URI
// of a folder. An answer that is not known in all has "…" in place of a part.
type fileCase struct{ method, params, answer string }

// fileCases calls every method about files, in an order that makes sense.
var fileCases = []fileCase{
	{protocol.MethodCreateDirectory, `{"path":"@/d/e"}`, `{"result":{}}`},
	{protocol.MethodWriteFile, `{"path":"@/d/f","dataBase64":"b25lCnR3bwo="}`, `{"result":{}}`},
	{protocol.MethodReadFile, `{"path":"@/d/f"}`, `{"result":{"dataBase64":"b25lCnR3bwo="}}`},
	{protocol.MethodGetMetadata, `{"path":"@/d/f"}`, `{"result":{"isDirectory":false,"isFile":true,"isSymlink":false,"size":8,"createdAtMs":…,"modifiedAtMs":…}}`},
	{protocol.MethodCanonicalize, `{"path":"@/d/./e/"}`, `{"result":{"path":"@/d/e"}}`},
	{protocol.MethodReadDirectory, `{"path":"@/d"}`, `{"result":{"entries":[{"fileName":"e","isDirectory":true,"isFile":false},{"fileName":"f","isDirectory":false,"isFile":true}]}}`},
	{
		protocol.MethodWalk, `{"path":"@/d","options":{"maxDepth":9,"maxDirectories":9,"maxEntries":9,"followDirectorySymlinks":false}}`,
		`{"result":{"entries":[{"path":"@/d/e","kind":"directory"},{"path":"@/d/f","kind":"file"}],"errors":[],"truncated":false}}`,
	},
	{protocol.MethodOpenFile, `{"handleId":"r","path":"@/d/f"}`, `{"result":{"handleId":"r"}}`},
	{protocol.MethodReadBlock, `{"handleId":"r","offset":4,"len":9}`, `{"result":{"chunk":"dHdvCg==","eof":true}}`},
	{protocol.MethodCloseFile, `{"handleId":"r"}`, `{"result":{}}`},
	{protocol.MethodOpenFile, `{"handleId":"w","path":"@/d/f","mode":"replace","airlock":{"keep":true}}`, `{"result":{"handleId":"w"}}`},
	{protocol.MethodWriteBlock, `{"handleId":"w","offset":4,"chunk":"MTIz"}`, `{"result":{}}`},
	{protocol.MethodCopy, `{"sourcePath":"@/d","destinationPath":"@/c","recursive":true}`, `{"result":{}}`},
	{protocol.MethodRename, `{"sourcePath":"@/c/f","destinationPath":"@/c/g"}`, `{"result":{}}`},
	{protocol.MethodChmod, `{"path":"@/c/g","mode":384}`, `{"result":{}}`},
	{protocol.MethodReadRange, `{"path":"@/c/g","lines":{"first":2,"count":1}}`, `{"result":{"dataBase64":"MTIzCg==","offset":4,"eof":true}}`},
	{protocol.MethodSearch, `{"path":"@/c","pattern":"123"}`, `{"result":{"matches":[{"path":"@/c/g","line":2,"start":0,"end":3,"offset":4,"text":"123"}],"errors":[]}}`},
	{protocol.MethodWatchMissing, `{"watchId":1,"missing":["@/n"]}`, `{"result":{"watching":true}}`},
	{protocol.MethodWatch, `{"watchId":"w","path":"@","recursive":true}`, `{"result":{}}`},
	{protocol.MethodUnwatch, `{"watchId":"w"}`, `{"result":{"watching":true}}`},
	{protocol.MethodRemove, `{"path":"@/d"}`, `{"result":{}}`},
}

// in returns the case for a folder.
func (c fileCase) in(uri string) fileCase {
	return fileCase{c.method, strings.ReplaceAll(c.params, "@", uri), strings.ReplaceAll(c.answer, "@", uri)}
}

// folder returns an empty folder, as it is and as URI.
func folder(t *testing.T) (path, uri string) {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := protocol.PathURIFromNative(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, parsed.String()
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, want %q (%v)", path, got, want, err)
	}
}

// TestFileMethods calls each method over a socket.
func TestFileMethods(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	w := listen(t, newServer(t, Config{}))().open("")
	left := fileMethods()
	for _, c := range fileCases {
		c = c.in(uri)
		got := w.call(c.method, c.params).text
		rest, found := got, true
		for part := range strings.SplitSeq(strings.Trim(c.answer, "{}"), "…") {
			if found {
				_, rest, found = strings.Cut(rest, part)
			}
		}
		if !found {
			t.Errorf("%s %s\n got %s\nwant %s", c.method, c.params, got, c.answer)
		}
		delete(left, c.method)
	}
	if len(left) > 0 {
		t.Errorf("not called: %v", slices.Sorted(maps.Keys(left)))
	}
	wantContent(t, filepath.Join(path, "c", "g"), "one\n123\n")
	if _, err := os.Stat(filepath.Join(path, "d")); !os.IsNotExist(err) {
		t.Errorf("the folder has not been removed: %v", err)
	}
	writeFile(t, filepath.Join(path, "n"), "")
	w.next("the change", func(m message) bool {
		return m.text == `{"method":"fs/missingChanged","params":{"watchId":1}}`
	})
}

// TestFileGates: nothing can be done to files before the handshake.
func TestFileGates(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	w := dial(t, newServer(t, Config{}))
	all := func(when string) {
		t.Helper()
		for _, c := range fileCases {
			w.want(c.method, c.in(uri).params, `{"error":{"code":-32600,"message":"client must `+when+` before using filesystem methods"}}`)
		}
		w.want(protocol.MethodHTTPRequest, `{"method":"GET","url":"http://127.0.0.1:1/","requestId":""}`,
			`{"error":{"code":-32600,"message":"client must `+when+` before using http methods"}}`)
	}
	all("call initialize")
	w.call("initialize", `{"clientName":"x"}`)
	all("send initialized")
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		t.Errorf("in the folder is %v (%v)", entries, err)
	}
}

// TestFileFeaturesSwitchedOff: what is switched off is not there, and has no effect.
func TestFileFeaturesSwitchedOff(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	config := Config{}
	for _, name := range protocol.Features() {
		if strings.HasPrefix(name, "fs") {
			config.Disable = append(config.Disable, name)
		}
	}
	w := dial(t, newServer(t, config)).open("")
	for _, c := range fileCases {
		if fileMethods()[c.method].feature != "" {
			w.want(c.method, c.in(uri).params, "{\"error\":{\"code\":-32601,\"message\":\"exec-server stub does not implement `"+c.method+"` yet\"}}")
		}
	}
	if info := w.call(protocol.MethodEnvironmentInfo, `{}`).text; strings.Contains(info, `"fsOpenKeep"`) || strings.Contains(info, `"fsWatch"`) {
		t.Errorf("still announced: %s", info)
	}

	kept := filepath.Join(path, "kept")
	writeFile(t, kept, "content")
	for _, mode := range []string{"replace", "read"} {
		w.wantRefused(protocol.MethodOpenFile, fmt.Sprintf(`{"handleId":"h","path":"%s/kept","mode":%q,"airlock":{"keep":true}}`, uri, mode), -32602, "fsOpenKeep")
		w.wantRefused(protocol.MethodReadBlock, `{"handleId":"h","offset":0,"len":1}`, -32004, "unknown file handle `h`")
	}
	wantContent(t, kept, "content")
	// What asks for nothing is nothing to refuse.
	w.want(protocol.MethodOpenFile, `{"handleId":"h","path":"`+uri+`/kept","mode":"replace","airlock":{"keep":false}}`, `{"result":{"handleId":"h"}}`)
	wantContent(t, kept, "")
}

// TestFileConfinementIsRefused: where nothing can be enforced, nothing is done that
// was to be confined.
func TestFileConfinementIsRefused(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	s := newServer(t, Config{})
	s.confined = confined.New(confined.Config{})
	w := dial(t, s).open("")
	const sandbox = `,"sandbox":{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[]},"network":"restricted"},"windowsSandboxLevel":"disabled"}}`
	for _, c := range fileCases {
		switch c.method {
		case protocol.MethodReadBlock, protocol.MethodWriteBlock, protocol.MethodCloseFile, protocol.MethodWatchMissing, protocol.MethodUnwatch:
			continue // they take none
		}
		want := "filesystem sandbox cannot be enforced"
		if c.method == protocol.MethodWatch {
			want = "a watch can't be confined"
		}
		w.wantRefused(c.method, strings.TrimSuffix(c.in(uri).params, "}")+sandbox, -32600, want)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) > 0 {
		t.Errorf("in the folder is %v (%v)", entries, err)
	}
}

// TestWatchAnswerComesFirst: nothing of a watch is told before its answer, however
// much happens.
func TestWatchAnswerComesFirst(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	for _, concurrency := range []int{1, 8} {
		w := dial(t, newServer(t, Config{ConcurrentRequests: concurrency})).open("")
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = os.WriteFile(filepath.Join(path, fmt.Sprint(i%10)), nil, 0o600)
				}
			}
		}()
		for i := range 10 {
			id := w.request(protocol.MethodWatch, fmt.Sprintf(`{"watchId":"w%d","path":%q}`, i, uri))
			answered := false
			w.next("a change", func(m message) bool {
				answered = answered || m.ID != nil && *m.ID == id
				return strings.HasPrefix(m.text, fmt.Sprintf(`{"method":"airlock/fsChanged","params":{"watchId":"w%d"`, i))
			})
			if !answered {
				t.Errorf("concurrency %d: a change comes before the answer", concurrency)
			}
			w.want(protocol.MethodUnwatch, fmt.Sprintf(`{"watchId":"w%d"}`, i), `{"result":{"watching":true}}`)
		}
		close(stop)
		<-stopped
	}
}

// TestFilesEndWithTheirConnection: open files and watches are not the session's.
func TestFilesEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	writeFile(t, filepath.Join(path, "f"), "x")
	s := newServer(t, Config{})
	first := dial(t, s).open("")
	const open = `{"handleId":"h","path":"%s/f"}`
	first.want(protocol.MethodOpenFile, fmt.Sprintf(open, uri), `{"result":{"handleId":"h"}}`)
	first.want(protocol.MethodWatch, fmt.Sprintf(`{"watchId":"w","path":%q}`, uri), `{"result":{}}`)
	other := dial(t, s).open("")
	other.want(protocol.MethodReadBlock, `{"handleId":"h","offset":0,"len":1}`, "{\"error\":{\"code\":-32004,\"message\":\"unknown file handle `h`\"}}")

	again := dial(t, s)
	if m := again.call("initialize", fmt.Sprintf(`{"clientName":"test","resumeSessionId":%q,"airlock":{"takeover":true}}`, first.session)); m.Error != nil {
		t.Fatal(m.text)
	}
	again.send(`{"method":"initialized"}`)
	again.want(protocol.MethodReadBlock, `{"handleId":"h","offset":0,"len":1}`, "{\"error\":{\"code\":-32004,\"message\":\"unknown file handle `h`\"}}")
	again.want(protocol.MethodUnwatch, `{"watchId":"w"}`, `{"result":{"watching":false}}`)
	again.want(protocol.MethodOpenFile, fmt.Sprintf(open, uri), `{"result":{"handleId":"h"}}`)
	again.want(protocol.MethodReadBlock, `{"handleId":"h","offset":0,"len":1}`, `{"result":{"chunk":"eA==","eof":false}}`)
}

// TestBlocksOfManyAtATime: the memory of what is written is used again only when it
// has been.
func TestBlocksOfManyAtATime(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	w := dial(t, newServer(t, Config{ConcurrentRequests: 8})).open("")
	const files, blocks, size = 4, 8, 300_000
	content := func(file, block int) []byte {
		return []byte(strings.Repeat(string(rune('a'+file*blocks+block)), size))
	}
	for file := range files {
		w.want(protocol.MethodOpenFile, fmt.Sprintf(`{"handleId":"%d","path":"%s/%d","mode":"replace"}`, file, uri, file), fmt.Sprintf(`{"result":{"handleId":"%d"}}`, file))
	}
	var ids []int
	for block := range blocks {
		for file := range files {
			chunk, err := json.Marshal(content(file, block))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, w.request(protocol.MethodWriteBlock, fmt.Sprintf(`{"handleId":"%d","offset":%d,"chunk":%s}`, file, block*size, chunk)))
		}
	}
	for _, id := range ids {
		if m := w.answer(id); m.Error != nil {
			t.Error(m.text)
		}
	}
	for file := range files {
		got, err := os.ReadFile(filepath.Join(path, fmt.Sprint(file)))
		var want []byte
		for block := range blocks {
			want = append(want, content(file, block)...)
		}
		if err != nil || string(got) != string(want) {
			t.Errorf("file %d is not what was written (%v)", file, err)
		}
	}
}
