package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/protocol"
)

// isOpen tells whether this program has a file open.
func isOpen(path string) bool {
	const folder = "/proc/self/fd"
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil && name == path {
			return true
		}
	}
	return false
}

// waitFor waits for something to be so.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to this: " + what)
		}
	}
}

// TestLargeReads: large files that are asked for at one go are all told, and each is
// held until it has been, or until the client has gone. That its file is open stands
// for all that it holds.
func TestLargeReads(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		path, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		path += "/large"
		const size = 12 << 20
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		uri, err := protocol.PathURIFromNative(path)
		if err != nil {
			t.Fatal(err)
		}
		request := fmt.Sprintf(`{"id":2,"method":"fs/readFile","params":{"path":"%v"}}`, uri)
		conn, err := newServer(t, Config{ConcurrentRequests: concurrency}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const times = 4
		batch := [][]byte{[]byte(`{"id":1,"method":"initialize","params":{"clientName":"reader"}}`), []byte(`{"method":"initialized"}`)}
		for range 2 * times {
			batch = append(batch, []byte(request))
		}
		if err := conn.Write(batch); err != nil {
			t.Fatal(err)
		}
		for told := 0; told < times; {
			data, err := conn.Read()
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > size && strings.HasPrefix(string(data[:40]), `{"id":2,"result":{"dataBase64":"AAAA`) {
				told++
			}
		}
		waitFor(t, "one is held that is not read", func() bool { return isOpen(path) })
		conn.Close(nil)
		waitFor(t, "nothing is held for who has gone", func() bool { return !isOpen(path) })
	}
}
