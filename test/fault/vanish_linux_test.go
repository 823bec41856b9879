package fault

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// scene is what clients work on that vanish.
type scene struct {
	dir    string // a folder of many
	uri    string
	origin *httptest.Server // answers /endless and /hang, neither of which ends
}

// vanishing are what a client is at when it vanishes. Each begins something and
// returns when it is under way; nothing more is read.
var vanishing = map[string]func(w *wire, s *scene){
	"reading blocks": func(w *wire, s *scene) {
		w.call(protocol.MethodOpenFile, fmt.Sprintf(`{"handleId":"h","path":"%s/large"}`, s.uri))
		for i := range 64 {
			w.send(protocol.MethodReadBlock, fmt.Sprintf(`{"handleId":"h","offset":%d,"len":1048576}`, i<<20))
		}
	},
	"writing blocks": func(w *wire, s *scene) {
		w.call(protocol.MethodOpenFile, fmt.Sprintf(`{"handleId":"h","path":"%s/written","mode":"replace"}`, s.uri))
		w.sendAhead(protocol.MethodWriteBlock, `{"handleId":"h","offset":0,"chunk":"`+base64.StdEncoding.EncodeToString(make([]byte, 1<<20))+`"}`)
	},
	"opening files": func(w *wire, s *scene) {
		for i := range 1000 {
			w.send(protocol.MethodOpenFile, fmt.Sprintf(`{"handleId":"%d","path":"%s/large"}`, i, s.uri))
		}
	},
	"reading a file": func(w *wire, s *scene) {
		for range 5 {
			w.send(protocol.MethodReadFile, fmt.Sprintf(`{"path":"%s/large"}`, s.uri))
		}
	},
	"writing a file": func(w *wire, s *scene) {
		w.sendAhead(protocol.MethodWriteFile, fmt.Sprintf(`{"path":"%s/written","dataBase64":"%s"}`, s.uri, base64.StdEncoding.EncodeToString(make([]byte, 1<<20))))
	},
	"copying": func(w *wire, s *scene) {
		w.send(protocol.MethodCopy, fmt.Sprintf(`{"sourcePath":"%[1]s/tree","destinationPath":"%[1]s/copied","recursive":true}`, s.uri))
	},
	"walking": func(w *wire, s *scene) {
		for range 50 {
			w.send(protocol.MethodWalk, fmt.Sprintf(`{"path":"%s","options":{"maxDepth":9,"maxDirectories":9999,"maxEntries":49999,"followDirectorySymlinks":true}}`, s.uri))
		}
	},
	"searching": func(w *wire, s *scene) {
		for range 50 {
			w.send(protocol.MethodSearch, fmt.Sprintf(`{"path":"%s","pattern":"x"}`, s.uri))
		}
	},
	"watching": func(w *wire, s *scene) {
		w.call(protocol.MethodWatch, fmt.Sprintf(`{"watchId":"w","path":%q,"recursive":true}`, s.uri))
		w.call(protocol.MethodWatchMissing, fmt.Sprintf(`{"watchId":1,"missing":["%s/none"]}`, s.uri))
		if err := os.WriteFile(filepath.Join(s.dir, "changed"), nil, 0o600); err != nil {
			w.t.Error(err)
		}
		w.event()
	},
	"streaming": func(w *wire, s *scene) {
		for i := range 5 {
			w.send(protocol.MethodHTTPRequest, fmt.Sprintf(`{"method":"GET","url":"%s/endless","requestId":"%d","streamResponse":true}`, s.origin.URL, i))
		}
		w.event()
	},
	"waiting for an origin": func(w *wire, s *scene) {
		for i, path := range []string{"hang", "hang", "endless"} {
			w.send(protocol.MethodHTTPRequest, fmt.Sprintf(`{"method":"GET","url":"%s/%s","requestId":"%d"}`, s.origin.URL, path, i))
		}
		w.call(protocol.MethodEnvironmentStatus, `{}`)
	},
}

// sendAhead sends the same a few times, the last ones while the connection is cut.
func (w *wire) sendAhead(method, params string) {
	w.call(method, params)
	message := fmt.Appendf(nil, `{"id":1000,"method":%q,"params":%s}`, method, params)
	go func() { _ = w.conn.Write([][]byte{message, message, message, message}) }()
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir()}
	s.uri = fileURI(s.dir)
	for i := range 30 {
		dir := filepath.Join(s.dir, "tree", fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for j := range 50 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), []byte("x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	large := filepath.Join(s.dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 64<<20); err != nil {
		t.Fatal(err)
	}
	s.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.URL.Path == "/endless" {
			if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.origin.Close)
	return s
}

// TestClientsVanish: of clients that vanish in the midst of something no goroutine,
// no descriptor and no temporary file is left.
func TestClientsVanish(t *testing.T) {
	s := newScene(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	executor := server.New(server.Config{SessionTTL: 50 * time.Millisecond})
	t.Cleanup(executor.Close)
	l, err := executor.Listen(server.ListenConfig{URL: "ws://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve() }()
	t.Cleanup(func() { l.Close(); <-served })
	for name, begin := range vanishing {
		t.Run(name, func(t *testing.T) {
			vanish := func(clients int) {
				c := newCable(t, strings.TrimPrefix(l.URL(), "ws://"))
				for range clients {
					w := dialWire(t, c.url())
					defer w.conn.Close(nil) // our end
					begin(w, s)
				}
				c.close()
			}
			vanish(1) // what is made only once is there now
			goroutines, descriptors := settled(t)
			vanish(5)
			eventually(t, 20*time.Second, func() string {
				if now := runtime.NumGoroutine(); now > goroutines {
					return fmt.Sprintf("%d goroutines, %d before\n%s", now, goroutines, stacks())
				}
				if now := ownDescriptors(t); now > descriptors {
					return fmt.Sprintf("%d descriptors, %d before", now, descriptors)
				}
				return ""
			})
			if entries, err := os.ReadDir(temporary); err != nil || len(entries) > 0 {
				t.Errorf("left are %v (%v)", entries, err)
			}
			w := dialWire(t, l.URL()) // and it goes on
			w.call(protocol.MethodGetMetadata, fmt.Sprintf(`{"path":%q}`, s.uri))
			w.conn.Close(nil)
		})
	}
}

// settled returns how many goroutines and descriptors there are once that has not
// changed for a while.
func settled(t *testing.T) (goroutines, descriptors int) {
	t.Helper()
	same := 0
	eventually(t, 20*time.Second, func() string {
		before := [2]int{goroutines, descriptors}
		goroutines, descriptors = runtime.NumGoroutine(), ownDescriptors(t)
		same++
		if now := [2]int{goroutines, descriptors}; now != before {
			same = 0
		}
		if same < 20 {
			return "the numbers of goroutines and descriptors go on changing"
		}
		return ""
	})
	return goroutines, descriptors
}

// stacks are those of all goroutines.
func stacks() string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, true)])
}
