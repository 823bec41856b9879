package server

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/transport"
)

func TestHandshakeGates(t *testing.T) {
	w := dial(t, newServer(t, Config{}))
	const status = "environment/status"
	w.want("foo/bar", `{}`, "{\"error\":{\"code\":-32601,\"message\":\"exec-server stub does not implement `foo/bar` yet\"}}")
	w.want("initialized", `{}`, "{\"error\":{\"code\":-32601,\"message\":\"exec-server stub does not implement `initialized` yet\"}}")
	w.want("process/start", `{}`, "{\"error\":{\"code\":-32602,\"message\":\"missing field `processId`\"}}")
	w.want("process/start", startParams("p", "true", ""), `{"error":{"code":-32600,"message":"client must call initialize before using exec methods"}}`)
	w.want(status, `{}`, `{"error":{"code":-32600,"message":"client must call initialize before using environment status methods"}}`)
	w.want("initialize", `null`, `{"error":{"code":-32602,"message":"invalid type: null, expected struct InitializeParams"}}`)
	w.want("initialize", `{"clientName":"x","resumeSessionId":"nope"}`, `{"error":{"code":-32600,"message":"unknown session id nope"}}`)
	if m := w.call("initialize", `{"clientName":"","resumeSessionId":null,"junk":[1]}`); m.Error != nil {
		t.Fatal(m.text)
	}
	w.want("initialize", `{"clientName":"x"}`, `{"error":{"code":-32600,"message":"initialize may only be sent once per connection"}}`)
	w.want("environment/info", `{}`, `{"error":{"code":-32600,"message":"client must send initialized before using environment info methods"}}`)
	w.send(`{"method":"initialized","params":{"ignored":1}}`)
	w.want(status, `{}`, `{"result":{"status":"ready"}}`)
	w.send(`{"method":"initialized"}`)
	w.want(status, `null`, `{"result":{"status":"ready"}}`)
	w.want("initialize", `{"clientName":"x"}`, `{"error":{"code":-32600,"message":"initialize may only be sent once per connection"}}`)
	w.send(`{"method":"process/read","params":{}}`)
	for m := range w.messages {
		t.Errorf("unexpected %s", m.text)
	}
}

func TestConfinementIsRefused(t *testing.T) {
	w := dial(t, newServer(t, Config{})).open("")
	for _, more := range []string{
		`,"sandbox":{"permissions":{"type":"disabled"},"windowsSandboxLevel":"mxc"}`,
		`,"sandbox":{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"},"networkProxy":{"proxy":{"enabled":true}}`,
		`,"networkProxy":{"proxy":{"enabled":true}}`,
		`,"enforceManagedNetwork":true`,
		`,"shellSnapshot":{"scopeId":"s","shell":{"name":"bash","path":"/bin/bash"}}`,
	} {
		marker := filepath.Join(t.TempDir(), "ran")
		m := w.call("process/start", startParams("p", "touch "+marker, more))
		if m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %s", more, m.text)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("%s: the command ran", more)
		}
	}
	w.want("process/start", startParams("p", "true", `,"networkProxy":{"proxy":{},"policyDecisionTimeoutMs":0}`),
		`{"error":{"code":-32602,"message":"network policy decision callback timeout must be nonzero"}}`)
	w.want("process/start", startParams("", "true", `,"networkProxy":{"proxy":{},"policyDecisionTimeoutMs":5}`),
		`{"error":{"code":-32602,"message":"callback-enabled process ID must be non-empty and at most 256 bytes"}}`)
}

// TestOneCommandOnTheWire pins the messages of a whole command, byte for byte.
func TestOneCommandOnTheWire(t *testing.T) {
	w := dial(t, newServer(t, Config{})).open("")
	w.request("process/start", startParams("ls", "echo out; exit 3", ""))
	for _, want := range []string{
		`{"id":2,"result":{"processId":"ls","sandboxType":"none"}}`,
		`{"method":"process/output","params":{"processId":"ls","seq":1,"stream":"stdout","chunk":"b3V0Cg=="}}`,
		`{"method":"process/exited","params":{"processId":"ls","seq":2,"exitCode":3,"sandboxDenied":false}}`,
		`{"method":"process/closed","params":{"processId":"ls","seq":3}}`,
	} {
		if m := <-w.messages; m.text != want {
			t.Errorf("got  %s\nwant %s", m.text, want)
		}
	}
	w.want("process/read", `{"processId":"ls"}`,
		`{"result":{"chunks":[{"seq":1,"stream":"stdout","chunk":"b3V0Cg=="}],"nextSeq":4,"exited":true,"exitCode":3,"closed":true,"failure":null,"sandboxDenied":false}}`)
	w.want("process/terminate", `{"processId":"ls"}`, `{"result":{"running":false}}`)
	w.want("process/signal", `{"processId":"ls","signal":"interrupt"}`, `{"result":{}}`)
}

// TestAnswerComesFirst: nothing of a process is sent before the answer to its
// start, and its numbers come in order, however quick it is.
func TestAnswerComesFirst(t *testing.T) {
	for _, concurrency := range []int{1, 16} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			w := dial(t, newServer(t, Config{ConcurrentRequests: concurrency})).open("")
			const count = 200
			ids := map[int]string{}
			for i := range count {
				id := fmt.Sprint("p", i)
				ids[w.request("process/start", startParams(id, "echo x; echo y >&2", ""))] = id
			}
			answered := map[string]bool{}
			seq := map[string]uint64{}
			for closed := 0; closed < count; {
				m := <-w.messages
				if m.Method == "" {
					answered[ids[*m.ID]] = true
					continue
				}
				id := m.Params.ProcessID
				seq[id]++
				if !answered[id] || m.Params.Seq != seq[id] {
					t.Fatalf("answered %v, number %d wanted: %s", answered[id], seq[id], m.text)
				}
				if m.Method == "process/closed" {
					closed++
				}
			}
		})
	}
}

// TestWritesStayInOrder, also when requests run side by side.
func TestWritesStayInOrder(t *testing.T) {
	w := dial(t, newServer(t, Config{ConcurrentRequests: 16})).open("")
	w.start("cat", "cat", `,"pipeStdin":true`)
	var want strings.Builder
	for i := range 3000 {
		line := fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i%500))
		want.WriteString(line)
		w.request("process/write", fmt.Sprintf(`{"processId":"cat","writeId":"%d","chunk":"%s"}`,
			i, base64.StdEncoding.EncodeToString([]byte(line))))
	}
	w.want("airlock/processCloseStdin", `{"processId":"cat"}`, `{"result":{}}`)
	if got, code := w.finish("cat", 0); got != want.String() || code != 0 {
		t.Errorf("%d bytes came back, want %d; exit code %d", len(got), want.Len(), code)
	}
}

// TestWaitingHoldsUpNobody: neither a long poll nor a write to a child that does
// not read delays other requests at the default concurrency.
func TestWaitingHoldsUpNobody(t *testing.T) {
	w := dial(t, newServer(t, Config{})).open("")
	w.start("idle", "sleep 60", `,"pipeStdin":true`)
	poll := w.request("process/read", `{"processId":"idle","waitMs":60000}`)
	chunk := base64.StdEncoding.EncodeToString(make([]byte, 64<<10))
	var writes []int
	for i := range 140 {
		writes = append(writes, w.request("process/write",
			fmt.Sprintf(`{"processId":"idle","writeId":"%d","chunk":"%s"}`, i, chunk)))
	}
	w.want("environment/status", `{}`, `{"result":{"status":"ready"}}`)
	w.want("process/terminate", `{"processId":"idle"}`, `{"result":{"running":true}}`)
	if m := w.answer(poll); m.Error != nil {
		t.Error(m.text)
	}
	failed := 0
	for _, id := range writes {
		if m := w.answer(id); m.Error != nil {
			failed++
			if m.Error.Message != "failed to write to process stdin" {
				t.Error(m.text)
			}
		}
	}
	if failed == 0 {
		t.Error("no write had to wait")
	}
}

// TestStartSurvivesItsConnection: whenever the cable is cut around a start, the
// process can be used after the session is resumed.
func TestStartSurvivesItsConnection(t *testing.T) {
	s := newServer(t, Config{})
	for i := range 100 {
		w := dial(t, s).open("")
		w.request("process/start", startParams("p", "echo done", ""))
		// Pipelined behind the start, this comes in when that is under way.
		if i%2 == 0 {
			w.answer(w.lastID)
		}
		w.conn.Close(nil)
		again := resume(t, s, w.session)
		for {
			m := again.call("process/read", `{"processId":"p","waitMs":1000}`)
			if m.Error == nil && strings.Contains(m.text, `"ZG9uZQo="`) {
				break
			}
			if m.Error != nil && strings.Contains(m.text, "unknown process id") {
				break // the cut came before the request
			}
			if m.Error != nil && !strings.Contains(m.text, "is starting") {
				t.Fatal(m.text)
			}
		}
		again.conn.Close(nil)
	}
}

// resume resumes a session as soon as its connection has been noticed to be
// gone.
func resume(t *testing.T, s *Server, id string) *wire {
	t.Helper()
	for {
		w := dial(t, s)
		m := w.call("initialize", fmt.Sprintf(`{"clientName":"again","resumeSessionId":"%s"}`, id))
		if m.Error == nil {
			w.session = id
			w.send(`{"method":"initialized"}`)
			return w
		}
		if m.Error.Code != -32010 {
			t.Fatal(m.text)
		}
		w.conn.Close(nil)
		runtime.Gosched()
	}
}

// TestResumeWithALongPoll: a poll does not keep the session of a connection
// that is gone.
func TestResumeWithALongPoll(t *testing.T) {
	s := newServer(t, Config{})
	w := dial(t, s).open("")
	w.start("p", "echo before; read x; echo after", `,"pipeStdin":true`)
	w.event("p")
	w.request("process/read", `{"processId":"p","afterSeq":1,"waitMs":3600000}`)
	w.call("environment/status", `{}`)
	w.conn.Close(nil)

	again := resume(t, s, w.session)
	again.want("process/read", `{"processId":"p"}`,
		`{"result":{"chunks":[{"seq":1,"stream":"stdout","chunk":"YmVmb3JlCg=="}],"nextSeq":2,"exited":false,"exitCode":null,"closed":false,"failure":null,"sandboxDenied":false}}`)
	again.want("process/write", `{"processId":"p","writeId":"1","chunk":"Cg=="}`, `{"result":{"status":"accepted"}}`)
	if got, _ := again.finish("p", 1); got != "after\n" {
		t.Errorf("got %q", got)
	}
}

// TestStalledClient: a client that stops reading holds back its own process and
// nobody else.
func TestStalledClient(t *testing.T) {
	s := newServer(t, Config{})
	conn, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(nil)
	for _, m := range []string{
		`{"id":1,"method":"initialize","params":{"clientName":"stalled"}}`, `{"method":"initialized"}`,
		`{"id":2,"method":"process/start","params":` + startParams("p", "head -c 100000000 /dev/zero", "") + `}`,
	} {
		if err := conn.Write([][]byte{[]byte(m)}); err != nil {
			t.Fatal(err)
		}
	}
	other := dial(t, s).open("")
	for i := range 20 {
		id := fmt.Sprint(i)
		other.start(id, "echo x", "")
		other.finish(id, 0)
	}
	var total int
	for total < 100_000_000 {
		data, err := conn.Read()
		if err != nil {
			t.Fatal(err)
		}
		if _, chunk, ok := strings.Cut(string(data), `"chunk":"`); ok {
			raw, _, _ := strings.Cut(chunk, `"`)
			decoded, err := base64.StdEncoding.DecodeString(raw)
			if err != nil {
				t.Fatal(err)
			}
			total += len(decoded)
		}
	}
	if total != 100_000_000 {
		t.Errorf("%d bytes came", total)
	}
}

// TestShortProcessesLeaveNothing: after 2,000 of them, descriptors and
// goroutines are as before.
func TestShortProcessesLeaveNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts descriptors in /proc")
	}
	s := newServer(t, Config{ConcurrentRequests: 8, ProcessRetention: time.Millisecond})
	w := dial(t, s).open("")
	run := func(count int) {
		for from := 0; from < count; from += 20 {
			for i := range 20 {
				w.start(fmt.Sprint(from+i), "echo x", fmt.Sprintf(`,"tty":%v,"pipeStdin":true`, i%2 == 0))
			}
			for i := range 20 {
				w.finish(fmt.Sprint(from+i), 0)
			}
		}
	}
	counts := func() (fds, goroutines int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries), runtime.NumGoroutine()
	}
	run(40)
	fds, goroutines := counts()
	// Children are forked from threads that are made on demand and kept.
	goroutines += max(4, runtime.NumCPU()) - 1
	// Control groups are kept for reuse: one for each process of a batch.
	fds += 20
	run(2000)
	// The newest may still be on their way out.
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		fdsNow, goroutinesNow := counts()
		if fdsNow <= fds && goroutinesNow <= goroutines {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("descriptors %d, before %d; goroutines %d, before %d", fdsNow, fds, goroutinesNow, goroutines)
		}
	}
}

// TestStdio: one message a line; at the end of input everything that was asked
// for is answered.
func TestStdio(t *testing.T) {
	s := newServer(t, Config{})
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.ServeStdio(t.Context(), inRead, outWrite); err != nil {
			t.Error(err)
		}
		_ = outWrite.Close()
	})
	lines := []string{
		`{"id":1,"method":"initialize","params":{"clientName":"x"}}`, `{"method":"initialized"}`, ``,
		`{"id":2,"method":"process/start","params":` + startParams("p", "sleep 60", "") + `}`,
		`{"id":3,"method":"process/read","params":{"processId":"p","waitMs":60000}}`,
		`nonsense`,
		`{"id":4,"method":"environment/status"}`, // and no line end
	}
	if _, err := inWrite.WriteString(strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	_ = inWrite.Close()
	out, err := io.ReadAll(outRead)
	if err != nil {
		t.Fatal(err)
	}
	served.Wait()
	for _, want := range []string{
		`{"id":2,"result":{"processId":"p","sandboxType":"none"}}`,
		`{"id":3,"result":{"chunks":[],"nextSeq":1,`, `{"id":4,"result":{"status":"ready"}}`,
		`failed to parse JSON-RPC message from exec-server stdio: `,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestPipelining: requests that are sent without waiting are all answered, over
// a real socket too.
func TestPipelining(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			s := newServer(t, Config{ConcurrentRequests: concurrency})
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
			w := newWire(t, conn).open("")
			const count, batch = 100_000, 1000
			messages := make([][]byte, batch)
			for from := 0; from < count; from += batch {
				for i := range messages {
					messages[i] = fmt.Appendf(nil, `{"id":%d,"method":"environment/status","params":{}}`, from+i)
				}
				if err := conn.Write(messages); err != nil {
					t.Fatal(err)
				}
			}
			for range count {
				m := <-w.messages
				if string(m.Result) != `{"status":"ready"}` {
					t.Fatalf("got %q", m.text)
				}
			}
		})
	}
}

func TestProcessIDLimit(t *testing.T) {
	w := dial(t, newServer(t, Config{})).open("")
	id := strings.Repeat("i", limits.ProcessIDBytes)
	w.start(id, "echo x", "")
	if got, _ := w.finish(id, 0); got != "x\n" {
		t.Errorf("got %q", got)
	}
	if m := w.call("process/start", startParams(id+"i", "true", "")); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("%.200s", m.text)
	}
}

// TestLogs: what happens is told, but neither what is run, nor what it says, nor
// the ids that give access to a session.
func TestLogs(t *testing.T) {
	var log lockedBuffer
	s := newServer(t, Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	w := dial(t, s).open("")
	w.start("secret-id", "echo secret-output; echo secret-output >&2", `,"metadata":{"toolCallId":"secret-call"}`)
	w.finish("secret-id", 0)
	w.conn.Close(nil)
	again := resume(t, s, w.session)
	again.conn.Close(nil)
	s.Close()
	text := log.String()
	for _, want := range []string{"connection opened", "connection closed", "session attached", "client=test", "resumed=true"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, secret := range []string{"secret", "/bin/sh", "PATH", w.session} {
		if strings.Contains(text, secret) {
			t.Errorf("%q in\n%s", secret, text)
		}
	}
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// TestCloseGivesUp: what does not end after it was killed does not keep the
// server from ending, but is told of.
func TestCloseGivesUp(t *testing.T) {
	var log lockedBuffer
	s := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	synctest.Test(t, func(t *testing.T) {
		s.connections.Add(1) // as one that waits for a process stuck in the kernel
		began := time.Now()
		s.Close()
		if took := time.Since(began); took != limits.CloseTimeout {
			t.Errorf("closed after %v", took)
		}
		s.connections.Done()
	})
	if !strings.Contains(log.String(), "do not end") {
		t.Errorf("the log says %q", log.String())
	}
}
