package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/transport"
)

func TestMain(m *testing.M) {
	RunHelper() // a start with limits executes this program again
	goleak.VerifyTestMain(m)
}

// wire is a client that speaks raw messages.
type wire struct {
	*testing.T
	conn     transport.Conn
	messages chan message // closed at the end of the connection
	held     []message    // came while something else was waited for
	lastID   int
	session  string
}

type message struct {
	text   string
	ID     *int
	Method string
	Params struct {
		ProcessID string
		Seq       uint64
		Stream    string
		Chunk     []byte
		ExitCode  int
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Kind string }
	}
}

func newServer(t *testing.T, config Config) *Server {
	s := New(config)
	t.Cleanup(s.Close)
	return s
}

// dial connects inside the program.
func dial(t *testing.T, s *Server) *wire {
	t.Helper()
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return newWire(t, conn)
}

// listen returns a client of a server on a real socket.
func listen(t *testing.T, s *Server) func() *wire {
	t.Helper()
	l, err := s.Listen(ListenConfig{URL: "ws://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve() }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func() *wire { return newWire(t, dialURL(t, l.URL())) }
}

// dialURL connects over a socket.
func dialURL(t *testing.T, url string) transport.Conn {
	t.Helper()
	conn, err := transport.Dial(t.Context(), url, transport.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func newWire(t *testing.T, conn transport.Conn) *wire {
	w := &wire{T: t, conn: conn, messages: make(chan message, 1_000_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.messages)
		for {
			data, err := conn.Read()
			if err != nil {
				return
			}
			m := message{text: string(data)}
			if err := json.Unmarshal(data, &m); err != nil {
				t.Errorf("not a message: %s", data)
			}
			w.messages <- m
		}
	}()
	t.Cleanup(func() { conn.Close(nil); <-done })
	return w
}

func (w *wire) send(text string) {
	w.Helper()
	if err := w.conn.Write([][]byte{[]byte(text)}); err != nil {
		w.Fatalf("sending %.100s: %v", text, err)
	}
}

// request sends a request and returns its id.
func (w *wire) request(method, params string) int {
	w.Helper()
	w.lastID++
	w.send(fmt.Sprintf(`{"id":%d,"method":"%s","params":%s}`, w.lastID, method, params))
	return w.lastID
}

// next returns the next message that matches, and keeps the others.
func (w *wire) next(what string, match func(message) bool) message {
	w.Helper()
	for i, m := range w.held {
		if match(m) {
			w.held = append(w.held[:i], w.held[i+1:]...)
			return m
		}
	}
	timeout := time.After(30 * time.Second)
	for {
		select {
		case m, ok := <-w.messages:
			if !ok {
				w.Fatalf("the connection ended before %s", what)
			}
			if match(m) {
				return m
			}
			w.held = append(w.held, m)
		case <-timeout:
			w.Fatalf("%s did not come", what)
		}
	}
}

func (w *wire) answer(id int) message {
	w.Helper()
	return w.next(fmt.Sprintf("the answer to %d", id), func(m message) bool {
		return m.Method == "" && m.ID != nil && *m.ID == id
	})
}

func (w *wire) call(method, params string) message {
	w.Helper()
	return w.answer(w.request(method, params))
}

// want makes a call and checks the whole answer, without its id.
func (w *wire) want(method, params, answer string) {
	w.Helper()
	m := w.call(method, params)
	text := m.text
	if after, ok := strings.CutPrefix(text, fmt.Sprintf(`{"id":%d,`, *m.ID)); ok {
		text = "{" + after
	} else {
		text = strings.TrimSuffix(text, fmt.Sprintf(`,"id":%d}`, *m.ID)) + "}"
	}
	if text != answer {
		w.Errorf("%s %s\n got %s\nwant %s", method, params, text, answer)
	}
}

// wantRefused checks that a request fails, and how.
func (w *wire) wantRefused(method, params string, code int, text string) {
	w.Helper()
	m := w.call(method, params)
	if m.Error == nil || m.Error.Code != code || !strings.Contains(m.Error.Message, text) {
		w.Errorf("%s %s: got %s, want %d, %q", method, params, m.text, code, text)
	}
}

// open does the handshake.
func (w *wire) open(resume string) *wire {
	w.Helper()
	params := `{"clientName":"test"}`
	if resume != "" {
		params = fmt.Sprintf(`{"clientName":"test","resumeSessionId":"%s"}`, resume)
	}
	m := w.call("initialize", params)
	var result struct{ SessionID string }
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil {
		w.Fatalf("initialize: %s", m.text)
	}
	w.session = result.SessionID
	w.send(`{"method":"initialized"}`)
	return w
}

// startParams are those of a shell command, with more members.
func startParams(id, script, more string) string {
	if !strings.Contains(more, `"tty"`) {
		more += `,"tty":false`
	}
	quoted, _ := json.Marshal(script)
	return fmt.Sprintf(`{"processId":"%s","argv":["/bin/sh","-c",%s],"cwd":"file:///","env":{"PATH":"/usr/bin:/bin"}%s}`,
		id, quoted, more)
}

// start starts a shell command.
func (w *wire) start(id, script, more string) {
	w.Helper()
	if m := w.call("process/start", startParams(id, script, more)); m.Error != nil {
		w.Fatalf("start: %s", m.text)
	}
}

// event returns the next notification about a process.
func (w *wire) event(id string) message {
	w.Helper()
	return w.next("an event of "+id, func(m message) bool { return m.Method != "" && m.Params.ProcessID == id })
}

// finish takes all events of a process, checks their numbers, and returns the
// joined output and the exit code.
func (w *wire) finish(id string, after uint64) (output string, code int) {
	w.Helper()
	var all strings.Builder
	for {
		m := w.event(id)
		after++
		if m.Params.Seq != after {
			w.Fatalf("process %s: number %d, want %d", id, m.Params.Seq, after)
		}
		switch m.Method {
		case "process/output":
			all.Write(m.Params.Chunk)
		case "process/exited":
			code = m.Params.ExitCode
		case "process/closed":
			return all.String(), code
		}
	}
}
