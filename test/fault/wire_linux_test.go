package fault

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// wire is a client that does nothing by itself: it does not resume, and reads
// when it is told to.
type wire struct {
	t       *testing.T
	conn    transport.Conn
	session string
	lastID  int
	events  []message // that came before an answer
}

// message is what an executor sends.
type message struct {
	ID     *int   `json:"id"`
	Method string `json:"method"`
	Params struct {
		ProcessID string               `json:"processId"`
		Seq       uint64               `json:"seq"`
		Chunk     []byte               `json:"chunk"`
		Airlock   *protocol.EventExtra `json:"airlock"`
	} `json:"params"`
	Result struct {
		SessionID string              `json:"sessionId"`
		Chunks    []protocol.Chunk    `json:"chunks"`
		NextSeq   uint64              `json:"nextSeq"`
		Closed    bool                `json:"closed"`
		Airlock   *protocol.ReadExtra `json:"airlock"`
	} `json:"result"`
	Error *protocol.Error `json:"error"`
}

// dialWire opens a session.
func dialWire(t *testing.T, url string) *wire {
	t.Helper()
	w := connectWire(t, url)
	w.session = w.call("initialize", `{"clientName":"wire"}`).Result.SessionID
	w.write(`{"method":"initialized"}`)
	return w
}

// dialWireLater resumes a session as soon as it is detached.
func dialWireLater(t *testing.T, url, session string) *wire {
	t.Helper()
	var w *wire
	eventually(t, 10*time.Second, func() string {
		w = connectWire(t, url)
		id := w.send("initialize", fmt.Sprintf(`{"clientName":"wire","resumeSessionId":%q}`, session))
		if m := w.answer(id); m.Error != nil {
			w.conn.Close(nil)
			return m.Error.Message
		}
		return ""
	})
	w.session = session
	w.write(`{"method":"initialized"}`)
	return w
}

func connectWire(t *testing.T, url string) *wire {
	t.Helper()
	conn, err := transport.Dial(t.Context(), url, transport.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(nil) })
	return &wire{t: t, conn: conn}
}

func (w *wire) write(text string) {
	w.t.Helper()
	if err := w.conn.Write([][]byte{[]byte(text)}); err != nil {
		w.t.Fatal(err)
	}
}

// send sends a request and returns its id.
func (w *wire) send(method, params string) int {
	w.t.Helper()
	w.lastID++
	w.write(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, w.lastID, method, params))
	return w.lastID
}

func (w *wire) read() message {
	w.t.Helper()
	text, err := w.conn.Read()
	if err != nil {
		w.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		w.t.Fatalf("%.200s: %v", text, err)
	}
	return m
}

// answer waits for the answer to a request.
func (w *wire) answer(id int) message {
	w.t.Helper()
	for {
		m := w.read()
		if m.ID != nil && *m.ID == id {
			return m
		}
		w.events = append(w.events, m)
	}
}

// call makes a request that has to succeed.
func (w *wire) call(method, params string) message {
	w.t.Helper()
	m := w.answer(w.send(method, params))
	if m.Error != nil {
		w.t.Fatalf("%s: %v", method, m.Error)
	}
	return m
}

// event returns the next event. Answers that nobody waits for are dropped.
func (w *wire) event() message {
	w.t.Helper()
	for {
		var m message
		if len(w.events) > 0 {
			m = w.events[0]
			w.events = w.events[1:]
		} else {
			m = w.read()
		}
		if m.Method != "" {
			return m
		}
	}
}

// start starts a script.
func (w *wire) start(id, script, more string) {
	w.t.Helper()
	w.call("process/start", startParams(id, script, more))
}

func startParams(id, script, more string) string {
	return fmt.Sprintf(`{"processId":%q,"argv":["sh","-c",%q],"cwd":"file:///","env":{"PATH":%q},"tty":false%s}`,
		id, script, os.Getenv("PATH"), more)
}
