//go:build unix

package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/internal/control"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
)

// serveControl makes and serves the control socket of an executor.
func serveControl(t *testing.T, s *Server) *ControlListener {
	t.Helper()
	l, err := s.ListenControl(ControlConfig{
		Path: filepath.Join(t.TempDir(), "d", "s"), Listen: []string{"ws://127.0.0.1:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := l.Serve(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l
}

// operate connects to a control socket.
func operate(t *testing.T, l *ControlListener) *wire {
	t.Helper()
	conn, err := control.Dial(t.Context(), l.Path())
	if err != nil {
		t.Fatal(err)
	}
	return newWire(t, conn)
}

// read makes a request that is answered with output, and returns it as text.
func (w *wire) read(method, params string) (text string, result readResult) {
	w.Helper()
	m := w.call(method, params)
	if m.Error != nil {
		w.Fatal(m.text)
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, c := range result.Chunks {
		b.Write(c.Chunk)
	}
	return b.String(), result
}

type readResult struct {
	Chunks   []struct{ Chunk []byte }
	NextSeq  uint64
	Exited   bool
	ExitCode *int
	Closed   bool
	Airlock  struct {
		FirstSeq     uint64
		DroppedBytes map[string]int
		Reason       string
	}
}

// TestControlLists: whoever runs the executor sees all sessions and processes, and
// needs no handshake.
func TestControlLists(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Version: "v1"})
	o := operate(t, serveControl(t, s))
	type sessions struct {
		Executor struct {
			PID         int
			Version     string
			Listen      []string
			StartedAtMs int64
		}
		Sessions []struct {
			SessionID, ClientName    string
			Attached                 bool
			CreatedAtMs, ChangedAtMs int64
			Processes, Running       int
		}
	}
	list := func() (all sessions) {
		t.Helper()
		if err := json.Unmarshal(o.call("airlock/sessionList", `{}`).Result, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := list()
	if e := before.Executor; e.Version != "v1" || fmt.Sprint(e.Listen) != "[ws://127.0.0.1:1]" || e.PID == 0 || e.StartedAtMs == 0 ||
		len(before.Sessions) != 0 {
		t.Errorf("an executor without clients: %+v", before)
	}
	a, b := dial(t, s).open(""), dial(t, s).open("")
	a.start("one", "exec sleep 60", "")
	a.start("two", "exit 3", "")
	a.finish("two", 0)
	b.conn.Close(nil)
	all := list()
	for all.Sessions[1].Attached { // until that has been noticed
		all = list()
	}
	first, second := all.Sessions[0], all.Sessions[1]
	if first.SessionID != a.session || !first.Attached || first.Processes != 2 || first.Running != 1 ||
		first.ClientName != "test" || first.CreatedAtMs == 0 {
		t.Errorf("the first session: %+v", first)
	}
	if second.SessionID != b.session || second.Processes != 0 || second.ChangedAtMs < second.CreatedAtMs {
		t.Errorf("the second session: %+v", second)
	}

	m := o.call("airlock/processList", fmt.Sprintf(`{"sessionId":"%s"}`, a.session))
	var processes struct {
		Processes []struct {
			ProcessID, State string
			ExitCode         *int
		}
	}
	if err := json.Unmarshal(m.Result, &processes); err != nil {
		t.Fatal(err)
	}
	if p := processes.Processes; len(p) != 2 || p[0].ProcessID != "one" || p[0].State != "running" || p[1].State != "closed" || *p[1].ExitCode != 3 {
		t.Errorf("the processes: %s", m.text)
	}
	o.want("airlock/processList", `{"sessionId":"nonsense"}`,
		`{"error":{"code":-32600,"message":"unknown session id nonsense"}}`)
	// Its own processes it has only with a session.
	o.want("airlock/processList", `{}`,
		`{"error":{"code":-32600,"message":"client must call initialize before using exec methods"}}`)
}

// TestControlIsForOperators: on every other kind of connection its methods do not
// exist, before and after the handshake, and no session sees another one.
func TestControlIsForOperators(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	serveControl(t, s)
	victim := dial(t, s).open("")
	victim.start("p", "exec sleep 60", "")
	l, err := s.Listen(ListenConfig{URL: "ws://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = l.Serve() })
	defer serving.Wait()
	defer l.Close()
	conn, err := transport.Dial(t.Context(), l.URL(), transport.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, conn)
	attempt := func() {
		t.Helper()
		for _, method := range []string{"airlock/sessionList", "airlock/observe", "airlock/sessionTerminate", "airlock/nonsense"} {
			for _, params := range []string{`{}`, fmt.Sprintf(`{"sessionId":"%s","processId":"p"}`, victim.session), `7`} {
				w.want(method, params, fmt.Sprintf(
					`{"error":{"code":-32601,"message":"exec-server stub does not implement `+"`%s`"+` yet"}}`, method))
			}
		}
		if m := w.call("airlock/processList", fmt.Sprintf(`{"sessionId":"%s"}`, victim.session)); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("processList with a session id: %s", m.text)
		}
	}
	attempt()
	w.open("")
	attempt()
	w.want("airlock/processList", `{}`, `{"result":{"processes":[]}}`)
	w.want("process/read", `{"processId":"p"}`, `{"error":{"code":-32600,"message":"unknown process id p"}}`)
	if m := victim.call("process/read", `{"processId":"p"}`); m.Error != nil {
		t.Error(m.text)
	}
}

// TestObserve: what a client is told and may read does not depend on who looks on.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	o := operate(t, serveControl(t, s))
	w := dial(t, s).open("")
	w.start("p", "echo before; read x; echo after; exit 3", `,"pipeStdin":true`)
	if m := w.event("p"); string(m.Params.Chunk) != "before\n" {
		t.Fatal(m.text)
	}
	params := func(more string) string {
		return fmt.Sprintf(`{"sessionId":"%s","processId":"p"%s}`, w.session, more)
	}
	if got, result := o.read("airlock/observe", params("")); got != "before\n" || result.NextSeq != 2 || result.Exited {
		t.Errorf("observed %q, %+v", got, result)
	}
	// Several wait at the same time, and hold up nothing.
	first := o.request("airlock/observe", params(`,"afterSeq":1,"waitMs":60000`))
	second := o.request("airlock/observe", params(`,"afterSeq":1,"waitMs":60000,"maxBytes":1`))
	o.call("airlock/sessionList", `{}`)
	w.call("process/write", `{"processId":"p","writeId":"1","chunk":"Cg=="}`)
	for _, id := range []int{first, second} {
		if m := o.answer(id); !strings.Contains(string(m.Result), base64.StdEncoding.EncodeToString([]byte("after\n"))) {
			t.Errorf("what waited is answered %s", m.text)
		}
	}
	if got, code := w.finish("p", 1); got != "after\n" || code != 3 {
		t.Errorf("the client got %q, %d", got, code)
	}
	got, result := o.read("airlock/observe", params(""))
	if got != "before\nafter\n" || !result.Closed || *result.ExitCode != 3 {
		t.Errorf("observed %q, %+v", got, result)
	}
	if m := w.call("process/read", `{"processId":"p"}`); m.Error != nil || !strings.Contains(m.text, `"closed":true`) {
		t.Error(m.text)
	}
	for _, test := range []struct{ params, want string }{
		{`{}`, "missing field `sessionId`"},
		{`{"sessionId":"x","processId":"p"}`, "unknown session id x"},
		{fmt.Sprintf(`{"sessionId":"%s","processId":"q"}`, w.session), "unknown process id q"},
		{fmt.Sprintf(`{"sessionId":"%s","processId":"p","afterSeq":-1}`, w.session), "invalid number"},
	} {
		if m := o.call("airlock/observe", test.params); m.Error == nil || !strings.Contains(m.Error.Message, test.want) {
			t.Errorf("%s: %s", test.params, m.text)
		}
	}
}

// TestObserveFallsBehind: one that is too slow misses output and is told how much;
// the client gets all of it.
func TestObserveFallsBehind(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{SpillBytes: -1})
	o := operate(t, serveControl(t, s))
	w := dial(t, s).open("")
	const total = 5_000_000
	w.start("p", fmt.Sprintf("head -c %d /dev/zero", total), "")
	if got, _ := w.finish("p", 0); len(got) != total {
		t.Fatalf("the client got %d bytes", len(got))
	}
	seen, after, dropped := 0, uint64(0), 0
	for {
		got, result := o.read("airlock/observe", fmt.Sprintf(`{"sessionId":"%s","processId":"p","afterSeq":%d}`, w.session, after))
		seen += len(got)
		if result.Airlock.FirstSeq > 0 {
			dropped = result.Airlock.DroppedBytes["stdout"]
		}
		if len(got) > limits.ObservedBytes {
			t.Errorf("one answer has %d bytes", len(got))
		}
		if result.Closed && got == "" {
			break
		}
		after = result.NextSeq - 1
	}
	if dropped == 0 || seen+dropped != total {
		t.Errorf("saw %d bytes and was told of %d, which does not make %d", seen, dropped, total)
	}
}

// TestControlResumes: over the socket a session can be resumed and taken over like
// over other connections; who loses it is told, also on the socket.
func TestControlResumes(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	l := serveControl(t, s)
	w := dial(t, s).open("")
	w.start("p", "read x; echo got $x", `,"pipeStdin":true`)
	takeover := func(w *wire, session string) {
		t.Helper()
		m := w.call("initialize", fmt.Sprintf(`{"clientName":"o","resumeSessionId":"%s","airlock":{"takeover":true}}`, session))
		if m.Error != nil {
			t.Fatal(m.text)
		}
		w.send(`{"method":"initialized"}`)
	}
	o := operate(t, l)
	o.call("airlock/sessionList", `{}`) // the one does not exclude the other
	refused := o.call("initialize", fmt.Sprintf(`{"clientName":"o","resumeSessionId":"%s"}`, w.session))
	if refused.Error == nil || refused.Error.Code != -32010 {
		t.Errorf("without takeover: %s", refused.text)
	}
	takeover(o, w.session)
	if _, err := w.conn.Read(); !errors.Is(err, transport.ErrTakenOver) {
		t.Errorf("the client reads %v", err)
	}
	// It is a client now, and an operator still.
	o.call("process/write", `{"processId":"p","writeId":"1","chunk":"eAo="}`)
	if got, _ := o.finish("p", 0); got != "got x\n" {
		t.Errorf("got %q", got)
	}
	if m := o.call("airlock/sessionList", `{}`); !strings.Contains(m.text, `"clientName":"o","attached":true`) {
		t.Error(m.text)
	}
	// And loses it in the same way.
	conn, err := control.Dial(t.Context(), l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(nil)
	if err := conn.Write([][]byte{[]byte(`{"id":1,"method":"initialize","params":{"clientName":"x"}}`)}); err != nil {
		t.Fatal(err)
	}
	data, err := conn.Read()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	takeover(dial(t, s), answer.Result.SessionID)
	if _, err := conn.Read(); !errors.Is(err, transport.ErrTakenOver) {
		t.Errorf("on the socket, the loser reads %v", err)
	}
	// Who leaves leaves the session for others.
	o.conn.Close(nil)
	resume(t, s, w.session)
}

// TestControlWithoutFeatures: what is switched off is so for clients only.
func TestControlWithoutFeatures(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{Disable: protocol.Features()})
	o := operate(t, serveControl(t, s))
	w := dial(t, s).open("")
	if m := w.call("airlock/processList", `{}`); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("a client lists: %s", m.text)
	}
	o.want("airlock/processList", fmt.Sprintf(`{"sessionId":"%s"}`, w.session), `{"result":{"processes":[]}}`)
	params := fmt.Sprintf(`{"clientName":"o","resumeSessionId":"%s","airlock":{"takeover":true}}`, w.session)
	if m := dial(t, s).call("initialize", params); m.Error == nil || m.Error.Code != -32010 {
		t.Errorf("a client takes over: %s", m.text)
	}
	if m := o.call("initialize", params); m.Error != nil {
		t.Errorf("the operator takes over: %s", m.text)
	}
}

// TestSessionTerminate: a process is ended with its children, its client learns
// why, and the session goes on; a session is ended with everything, its client's
// connection included.
func TestSessionTerminate(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	o := operate(t, serveControl(t, s))
	w := dial(t, s).open("")
	w.start("p", "trap 'echo asked; exit 5' TERM; sh -c 'echo ready; exec sleep 60' & while :; do wait; done", "")
	w.start("q", "trap '' TERM; sh -c 'echo ready; exec sleep 60' & while :; do wait; done", "")
	for _, id := range []string{"p", "q"} {
		if m := w.event(id); string(m.Params.Chunk) != "ready\n" {
			t.Fatal(m.text)
		}
	}
	type outcome struct{ Killed, Survivors []int }
	terminate := func(more string) (got outcome) {
		t.Helper()
		m := o.call("airlock/sessionTerminate", fmt.Sprintf(`{"sessionId":"%s"%s}`, w.session, more))
		if m.Error != nil || json.Unmarshal(m.Result, &got) != nil {
			t.Fatal(m.text)
		}
		return got
	}
	if got := terminate(`,"processId":"p","graceMs":60000`); len(got.Killed) != 2 || len(got.Survivors) != 0 {
		t.Errorf("of p: %+v", got)
	}
	asked, exited, closed := w.event("p"), w.event("p"), w.event("p")
	if string(asked.Params.Chunk) != "asked\n" || exited.Params.ExitCode != 5 || closed.Method != "process/closed" ||
		!strings.Contains(exited.text, `"airlock":{"reason":"operator"}`) {
		t.Errorf("the client is told %s %s %s", asked.text, exited.text, closed.text)
	}
	if m := w.call("process/read", `{"processId":"q"}`); m.Error != nil {
		t.Error(m.text)
	}
	for _, test := range []struct{ params, want string }{
		{`{"sessionId":"x"}`, "unknown session id x"},
		{fmt.Sprintf(`{"sessionId":"%s","processId":"z"}`, w.session), "unknown process id z"},
		{fmt.Sprintf(`{"sessionId":"%s","graceMs":3600001}`, w.session), "graceMs is 3600001: at most 3600000"},
		{fmt.Sprintf(`{"sessionId":"%s","processId":"q","graceMs":3600001}`, w.session), "graceMs is 3600001: at most 3600000"},
	} {
		if m := o.call("airlock/sessionTerminate", test.params); m.Error == nil || !strings.Contains(m.Error.Message, test.want) {
			t.Errorf("%s: %s", test.params, m.text)
		}
	}
	if got := terminate(`,"graceMs":1`); len(got.Killed) != 2 || len(got.Survivors) != 0 {
		t.Errorf("of the session: %+v", got)
	}
	if _, ok := <-w.messages; ok {
		for range w.messages {
		}
	}
	m := dial(t, s).call("initialize", fmt.Sprintf(`{"clientName":"x","resumeSessionId":"%s"}`, w.session))
	if m.Error == nil || !strings.Contains(m.Error.Message, "unknown session id") {
		t.Error(m.text)
	}
	if m := o.call("airlock/sessionList", `{}`); !strings.Contains(m.text, `"sessions":[]`) {
		t.Error(m.text)
	}
}

// TestControlEndsWithServer: whoever is connected to the socket is told.
func TestControlEndsWithServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	l := serveControl(t, s)
	conn, err := control.Dial(t.Context(), l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(nil)
	s.Close()
	if _, err := conn.Read(); !errors.Is(err, transport.ErrGoingAway) {
		t.Errorf("reads %v", err)
	}
	late, err := control.Dial(t.Context(), l.Path()) // it is not removed yet
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close(nil)
	if _, err := late.Read(); !errors.Is(err, transport.ErrGoingAway) {
		t.Errorf("who comes late reads %v", err)
	}
}

// TestControlNonsense: what makes no sense is answered, or ends its own connection
// with the reason, and harms nobody else.
func TestControlNonsense(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	l := serveControl(t, s)
	tests := []struct {
		name, send, want string
	}{
		{"not JSON", "nonsense\n", `"id":-1`},
		{"not an object", "[]\n", `"id":-1`},
		{"no method", "{\"id\":1}\n", `"id":-1`},
		{"deep", strings.Repeat("[", 1000) + "\n", `"id":-1`},
		{"wrong parameters", `{"id":1,"method":"airlock/observe","params":[1]}` + "\n", `"code":-32602`},
		{"unknown method", `{"id":1,"method":"airlock/nonsense"}` + "\n", `"code":-32601`},
		{"blank lines", "\n\r\n \n" + `{"id":1,"method":"airlock/sessionList"}` + "\n", `"sessions":[`},
		{"not UTF-8", "\"\xff\"\n", `"reason":"violation"`},
		{"too big", strings.Repeat("x", limits.MessageBytes+1) + "\n", `"reason":"tooBig"`},
		{"a notification that is none", `{"method":"x"}` + "\n", `"reason":"violation"`},
		{"an answer to nothing", `{"id":1,"result":{}}` + "\n", `"reason":"violation"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("unix", l.Path())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var writing sync.WaitGroup
			defer writing.Wait()
			writing.Go(func() { _, _ = conn.Write([]byte(test.send)) }) // it may be refused in the midst
			buffer := make([]byte, 64<<10)
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			n, err := conn.Read(buffer)
			if err != nil || !strings.Contains(string(buffer[:n]), test.want) {
				t.Errorf("answered %q, %v, want %s", buffer[:n], err, test.want)
			}
			operate(t, l).call("airlock/sessionList", `{}`)
		})
	}
}

// TestControlSlowReader: one who asks and does not read keeps nobody waiting: not
// the client of what it observes, nor others on the socket.
func TestControlSlowReader(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	l := serveControl(t, s)
	w := dial(t, s).open("")
	w.start("p", "read x; head -c 10000000 /dev/zero", `,"pipeStdin":true`)
	deaf, err := net.Dial("unix", l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	var writing sync.WaitGroup
	writing.Go(func() {
		for id := 1; ; id++ { // until its requests are not taken any more, and it is closed
			_, err := fmt.Fprintf(deaf, `{"id":%d,"method":"airlock/observe","params":{"sessionId":"%s","processId":"p","waitMs":60000}}`+"\n",
				id, w.session)
			if err != nil {
				return
			}
		}
	})
	defer writing.Wait()
	defer deaf.Close()
	w.call("process/write", `{"processId":"p","writeId":"1","chunk":"Cg=="}`)
	if got, _ := w.finish("p", 0); len(got) != 10_000_000 {
		t.Errorf("the client got %d bytes", len(got))
	}
	o := operate(t, l)
	got, _ := o.read("airlock/observe", fmt.Sprintf(`{"sessionId":"%s","processId":"p"}`, w.session))
	if len(got) == 0 {
		t.Error("the other one got nothing")
	}
}
