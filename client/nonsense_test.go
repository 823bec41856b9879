package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// liar is an executor that answers all but the handshake as a test wants it.
type liar struct {
	t           *testing.T
	answer      func(id int64, method string) string
	most        int // bytes in a message; 0: any
	connections atomic.Int32
	serving     sync.WaitGroup
}

func newLiar(t *testing.T, answer func(id int64, method string) string) *liar {
	l := &liar{t: t, answer: answer}
	t.Cleanup(l.serving.Wait)
	return l
}

func (l *liar) Connect(context.Context) (transport.Conn, error) {
	l.connections.Add(1)
	ours, theirs := transport.Pair()
	l.serving.Go(func() { l.serve(ours) })
	return bounded{theirs, l.most}, nil
}

func (l *liar) serve(conn transport.Conn) {
	defer conn.Close(transport.ErrClosed)
	for {
		data, err := conn.Read()
		if err != nil {
			return
		}
		var m struct {
			ID     int64  `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			l.t.Error(err)
		}
		var answer string
		switch m.Method {
		case protocol.NotificationInitialized:
			continue
		case protocol.MethodInitialize:
			result, err := protocol.Encode(&protocol.InitializeResult{SessionID: fakeSession, EnvironmentInfo: protocol.EnvironmentInfo{
				PlatformOS: "linux", PrependPathDirs: []protocol.PathURI{}, TemporaryDirectories: []protocol.PathURI{},
				TempDir: uri(l.t, "file:///tmp"),
				Airlock: &protocol.AirlockInfo{Version: "test", Features: []string{protocol.FeatureFSSearch}},
			}})
			if err != nil {
				l.t.Error(err)
			}
			answer = fmt.Sprintf(`{"id":%d,"result":%s}`, m.ID, result)
		case protocol.MethodEnvironmentStatus:
			answer = fmt.Sprintf(`{"id":%d,"result":{"status":"ready"}}`, m.ID)
		default:
			answer = l.answer(m.ID, m.Method)
		}
		if conn.Write([][]byte{[]byte(answer)}) != nil {
			return
		}
	}
}

// bounded is a connection that ends at a message that is too big, as those over a
// network do.
type bounded struct {
	transport.Conn
	most int
}

func (b bounded) Read() ([]byte, error) {
	data, err := b.Conn.Read()
	if err == nil && b.most > 0 && len(data) > b.most {
		b.Close(transport.ErrMessageTooBig)
		return nil, transport.ErrMessageTooBig
	}
	return data, err
}

// TestNonsenseAnswers: whatever an executor answers, a call ends, and the session goes on
// where that may help.
func TestNonsenseAnswers(t *testing.T) {
	entry := `{"fileName":"x","isDirectory":false,"isFile":true}`
	for name, test := range map[string]struct {
		answer string // with %d for the id
		want   error  // of the call
		after  error  // of the next one
		most   int32  // connections
	}{
		"more values than a message may have": {
			`{"id":%d,"result":{"entries":[` + strings.Repeat(entry+",", limits.JSONValues/4) + entry + `]}}`, rpc.ErrBadAnswer, nil, 1,
		},
		"too deep":            {`{"id":%d,"result":` + strings.Repeat("[", limits.JSONDepth+1), rpc.ErrBadAnswer, nil, 1},
		"half":                {`{"id":%d,"result":{"entries":[`, rpc.ErrBadAnswer, nil, 1},
		"no error":            {`{"id":%d,"error":{"code":"x"}}`, rpc.ErrBadAnswer, nil, 1},
		"something else":      {`{"id":%d,"result":{"entries":7}}`, errNoAnswer, nil, 1},
		"nothing":             {`{"id":%d,"result":null}`, errNoAnswer, nil, 1},
		"a name that leads":   {`{"id":%d,"result":{"entries":[{"fileName":"..","isDirectory":true,"isFile":false}]}}`, errNoAnswer, nil, 1},
		"a path for a name":   {`{"id":%d,"result":{"entries":[{"fileName":"a/b","isDirectory":true,"isFile":false}]}}`, errNoAnswer, nil, 1},
		"no name":             {`{"id":%d,"result":{"entries":[{"fileName":"","isDirectory":true,"isFile":false}]}}`, errNoAnswer, nil, 1},
		"too big":             {`{"id":%d,"result":"` + strings.Repeat("x", 10_000) + `"}`, transport.ErrMessageTooBig, nil, 3},
		"to nothing":          {`{"id":-%d,"result":{}}`, transport.ErrViolation, nil, 3},
		"no JSON":             {`%d, you say?`, ErrDisconnected, ErrDisconnected, 1},
		"no message":          {`{"result":%d}`, ErrDisconnected, ErrDisconnected, 1},
		"half a notification": {`{"method":"process/output","params":%d`, ErrDisconnected, ErrDisconnected, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiar(t, func(id int64, _ string) string { return fmt.Sprintf(test.answer, id) })
			if test.want == transport.ErrMessageTooBig {
				l.most = 5000
			}
			e, err := connect(t.Context(), l, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := e.Files().ReadDir(ctx, uri(t, "file:///r")); !errors.Is(err, test.want) {
				t.Errorf("got %.200s", err.Error())
			}
			if _, err := e.Status(ctx); !errors.Is(err, test.after) {
				t.Errorf("after it: %v", err)
			}
			if n := l.connections.Load(); n > test.most {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestNonsenseOfFiles: what can't be true of files neither ends the program nor goes on
// for ever.
func TestNonsenseOfFiles(t *testing.T) {
	answers := map[string]string{
		protocol.MethodGetMetadata: `{"isDirectory":false,"isFile":true,"isSymlink":false,"size":18446744073709551615,"createdAtMs":0,"modifiedAtMs":0}`,
		protocol.MethodWalk:        `{"entries":[{"path":"file:///elsewhere/x","kind":"file"}],"errors":[],"truncated":false}`,
		protocol.MethodSearch:      `{"matches":[],"errors":[],"next":"again"}`,
		protocol.MethodOpenFile:    `{"handleId":"x"}`,
		protocol.MethodReadBlock:   `{"chunk":"` + strings.Repeat("AAAA", 100) + `","eof":false}`,
		protocol.MethodCloseFile:   `{}`,
	}
	l := newLiar(t, func(id int64, method string) string {
		return fmt.Sprintf(`{"id":%d,"result":%s}`, id, answers[method])
	})
	e, err := connect(t.Context(), l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	files, path := e.Files(), uri(t, "file:///r")
	if _, err := files.ReadFile(ctx, path); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file without end: %v", err)
	}
	file, err := files.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.readAll(limits.BlockBytes); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file that grows: %v", err)
	}
	n := 0
	for _, err := range files.Walk(ctx, path, WalkOptions{}) {
		if n++; n > 1 || !errors.Is(err, errNoAnswer) {
			t.Errorf("a walk that leads elsewhere: %v", err)
		}
	}
	n = 0
	for _, err := range files.Search(ctx, protocol.SearchParams{Path: path, Pattern: "x"}) {
		if n++; n > 1 || !errors.Is(err, errEndless) {
			t.Errorf("a search that does not get on: %v", err)
		}
	}
}
