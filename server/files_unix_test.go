//go:build unix

package server

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/airlock-exec/airlock/protocol"
)

// hangingOrigin takes HTTP requests that it never answers. It tells when a
// connection has begun and when it has ended.
func hangingOrigin(t *testing.T) (url string, began, ended <-chan bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begins, ends := make(chan bool, 10), make(chan bool, 10)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			begins <- true
			running.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
				ends <- true
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return "http://" + l.Addr().String() + "/", begins, ends
}

// TestWhatHangsDelaysNobody, where requests are done one at a time.
func TestWhatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	path, uri := folder(t)
	for _, name := range []string{"pipe", "dir/pipe"} {
		name = filepath.Join(path, filepath.FromSlash(name))
		if err := syscall.Mkdir(filepath.Dir(name), 0o700); err != nil && err != syscall.EEXIST {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	origin, began, ended := hangingOrigin(t)
	w := listen(t, newServer(t, Config{}))().open("")
	requests := []int{
		w.request(protocol.MethodHTTPRequest, fmt.Sprintf(`{"method":"GET","url":%q,"requestId":"a"}`, origin)),
		w.request(protocol.MethodHTTPRequest, fmt.Sprintf(`{"method":"GET","url":%q,"requestId":"b","streamResponse":true}`, origin)),
	}
	<-began
	<-began
	notFile := fmt.Sprintf("path `%s/pipe` is not a file", path)
	for _, c := range []struct {
		method, params string
		code           int // of the error that is the answer; 0 if there is none
		text           string
	}{
		{protocol.MethodReadFile, `{"path":"%s/pipe"}`, -32600, notFile},
		{protocol.MethodReadFile, `{"path":"%s/pipe","followSymlinks":false}`, -32600, "path is not a regular file"},
		{protocol.MethodWriteFile, `{"path":"%s/pipe","dataBase64":""}`, -32600, notFile},
		{protocol.MethodWriteFile, `{"path":"%s/pipe","dataBase64":"","followSymlinks":false}`, -32603, "(os error 6)"},
		{protocol.MethodOpenFile, `{"handleId":"h","path":"%s/pipe"}`, -32600, notFile},
		{protocol.MethodOpenFile, `{"handleId":"h","path":"%s/pipe","mode":"replace"}`, -32603, "(os error 6)"},
		{protocol.MethodOpenFile, `{"handleId":"h","path":"%s/pipe","mode":"replace","airlock":{"keep":true}}`, -32603, "(os error 6)"},
		{protocol.MethodReadRange, `{"path":"%s/pipe","bytes":{"offset":0,"length":1}}`, -32600, notFile},
		{protocol.MethodSearch, `{"path":"%s/pipe","pattern":"x"}`, -32600, ""},
		{protocol.MethodSearch, `{"path":"%s","pattern":"x"}`, 0, ""},
		{protocol.MethodWalk, `{"path":"%s","options":{"maxDepth":9,"maxDirectories":9,"maxEntries":9,"followDirectorySymlinks":true}}`, 0, ""},
		{protocol.MethodGetMetadata, `{"path":"%s/pipe"}`, 0, ""},
		{protocol.MethodReadDirectory, `{"path":"%s/pipe"}`, -32603, "(os error 20)"},
		{protocol.MethodCopy, `{"sourcePath":"%[1]s/pipe","destinationPath":"%[1]s/new","recursive":true}`, -32600, "fs/copy only supports regular files"},
		{protocol.MethodCopy, `{"sourcePath":"%[1]s/dir","destinationPath":"%[1]s/copied","recursive":true}`, 0, ""},
		{protocol.MethodWatch, `{"watchId":"w","path":"%s/pipe"}`, 0, ""},
		{protocol.MethodRename, `{"sourcePath":"%[1]s/pipe","destinationPath":"%[1]s/renamed"}`, 0, ""},
		{protocol.MethodChmod, `{"path":"%s/renamed","mode":511}`, 0, ""},
		{protocol.MethodRemove, `{"path":"%s"}`, 0, ""},
		{protocol.MethodEnvironmentStatus, `{}`, 0, ""},
	} {
		params := c.params
		if params != `{}` {
			params = fmt.Sprintf(params, uri)
		}
		if c.code != 0 {
			w.wantRefused(c.method, params, c.code, c.text)
		} else if m := w.call(c.method, params); m.Error != nil {
			t.Errorf("%s %s: %s", c.method, params, m.text)
		}
	}
	w.start("p", "echo done", "")
	if out, code := w.finish("p", 0); out != "done\n" || code != 0 {
		t.Errorf("got %q, exit code %d", out, code)
	}
	for _, m := range w.held {
		for _, id := range requests {
			if m.ID != nil && *m.ID == id {
				t.Errorf("an origin that does not answer: %s", m.text)
			}
		}
	}
	w.conn.Close(nil)
	<-ended
	<-ended
}
