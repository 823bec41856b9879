//go:build unix

package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/airlock-exec/airlock/protocol"
)

func TestStdinInStart(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	for id, data := range map[string]string{"empty": "", "short": "a\nb", "long": strings.Repeat("0123456789abcdef", 1<<16)} {
		given := base64.StdEncoding.EncodeToString([]byte(data))
		w.start(id, "cat; echo end", `,"airlock":{"stdin":"`+given+`"}`)
		if got, code := w.finish(id, 0); got != data+"end\n" || code != 0 {
			t.Errorf("%s: got %d bytes, exit code %d", id, len(got), code)
		}
		w.want("process/write", `{"processId":"`+id+`","chunk":"","writeId":"w"}`, `{"result":{"status":"stdinClosed"}}`)
	}
	for _, more := range []string{`,"airlock":{"stdin":"*"}`, `,"airlock":{"stdin":5}`, `,"airlock":{"stdin":""},"tty":true`, `,"airlock":5`} {
		if m := w.call("process/start", startParams("p", "cat", more)); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %s", more, m.text)
		}
	}
}

func TestResizeTerminal(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	const script = `trap 'stty size' WINCH; stty size; while :; do read x; done`
	w.start("p", script, `,"tty":true,"airlock":{"terminalSize":{"rows":5,"cols":70}}`)
	expect := func(size string) {
		t.Helper()
		for text := ""; !strings.Contains(text, size+"\r\n"); {
			text += string(w.event("p").Params.Chunk)
		}
	}
	expect("5 70")
	w.want("airlock/processResize", `{"processId":"p","rows":33,"cols":44}`, `{"result":{}}`)
	expect("33 44")
	w.want("airlock/processResize", `{"processId":"p","rows":65535,"cols":1}`, `{"result":{}}`)
	expect("65535 1")
	w.start("pipes", "cat", `,"pipeStdin":true`)
	for params, text := range map[string]string{
		`{"processId":"p","rows":0,"cols":1}`:     "rows and cols must be 1 to 65535",
		`{"processId":"p","rows":65536,"cols":1}`: "invalid number",
		`{"processId":"p","rows":-1,"cols":1}`:    "invalid number",
		`{"processId":"p","cols":1}`:              "missing field `rows`",
		`{"processId":"pipes","rows":1,"cols":1}`: "has no terminal",
		`[]`: "expected struct ResizeParams",
	} {
		w.wantRefused("airlock/processResize", params, -32602, text)
	}
	w.wantRefused("airlock/processResize", `{"processId":"q","rows":1,"cols":1}`, -32600, "unknown process id q")
	for _, more := range []string{
		`,"airlock":{"terminalSize":{"rows":1,"cols":1}}`,
		`,"tty":true,"airlock":{"terminalSize":{"rows":0,"cols":1}}`,
		`,"tty":true,"airlock":{"terminalSize":{"rows":1}}`,
	} {
		if m := w.call("process/start", startParams("r", "true", more)); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %s", more, m.text)
		}
	}
}

// reasons returns what the events of a process tell of why it ended, with the exit
// and with the close.
func (w *wire) reasons(id string) (code int, exit, end string) {
	w.Helper()
	reason := func(m message) string {
		var extra struct {
			Params struct{ Airlock struct{ Reason string } }
		}
		if err := json.Unmarshal([]byte(m.text), &extra); err != nil {
			w.Fatal(err)
		}
		return extra.Params.Airlock.Reason
	}
	for {
		switch m := w.event(id); m.Method {
		case "process/exited":
			code, exit = m.Params.ExitCode, reason(m)
		case "process/closed":
			return code, exit, reason(m)
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	for _, test := range []struct{ id, script, extra, exit, end string }{
		{"deadline", "sleep 60", `{"timeoutMs":100}`, "deadline", ""},
		{"left behind", "sleep 60 &", `{"timeoutMs":300}`, "", "deadline"},
		{"idle", "echo x; sleep 60", `{"idleTimeoutMs":100}`, "idle", ""},
		{"busy", "for i in 1 2 3 4 5 6; do echo x; sleep 0.1; done", `{"idleTimeoutMs":5000,"timeoutMs":30000}`, "", ""},
	} {
		w.start(test.id, test.script, `,"airlock":`+test.extra)
		code, exit, end := w.reasons(test.id)
		if exit != test.exit || end != test.end || (code == 137) != (exit != "") {
			t.Errorf("%s: exit code %d, reasons %q and %q", test.id, code, exit, end)
		}
		var told struct {
			Airlock struct{ Reason, CloseReason string }
		}
		m := w.call("process/read", `{"processId":"`+test.id+`"}`)
		if err := json.Unmarshal(m.Result, &told); err != nil || told.Airlock.Reason != test.exit || told.Airlock.CloseReason != test.end {
			t.Errorf("%s: a read tells %s", test.id, m.text)
		}
	}
	for _, extra := range []string{`{"timeoutMs":0}`, `{"idleTimeoutMs":99999999999999}`, `{"timeoutMs":-1}`, `{"timeoutMs":1.5}`, `{"timeoutMs":"1"}`} {
		if m := w.call("process/start", startParams("p", "true", `,"airlock":`+extra)); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %s", extra, m.text)
		}
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	w.start("p", `exec 2>/dev/null; for s in HUP INT QUIT USR1 USR2 TERM CONT WINCH; do trap "echo $s" $s; done; echo ready; while :; do sleep 0.01; done`, "")
	w.event("p")
	for _, name := range []string{"HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "CONT", "WINCH"} {
		w.want("airlock/processSignal", `{"processId":"p","signal":"`+name+`"}`, `{"result":{"delivered":true}}`)
		if got := strings.TrimSpace(string(w.event("p").Params.Chunk)); got != name {
			t.Errorf("sent %s, got %s", name, got)
		}
	}
	w.want("airlock/processSignal", `{"processId":"p","signal":"STOP"}`, `{"result":{"delivered":true}}`)
	w.want("airlock/processSignal", `{"processId":"p","signal":"KILL"}`, `{"result":{"delivered":true}}`)
	if code, exit, _ := w.reasons("p"); code != 137 || exit != "" {
		t.Errorf("exit code %d, reason %q", code, exit)
	}
	w.want("airlock/processSignal", `{"processId":"p","signal":"KILL"}`, `{"result":{"delivered":false}}`)
	w.wantRefused("airlock/processSignal", `{"processId":"p","signal":"SIGKILL"}`, -32602, "unknown variant `SIGKILL`")
	w.wantRefused("airlock/processSignal", `{"processId":"p","signal":9}`, -32602, "invalid type")
	w.wantRefused("airlock/processSignal", `{"processId":"q","signal":"HUP"}`, -32600, "unknown process id q")
}

// TestTerminateGrace: what goes when it is asked to is not killed, and what does
// not is, with everything that it has started.
func TestTerminateGrace(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	terminate := func(id string, graceMs int) (killed []int) {
		t.Helper()
		m := w.call("airlock/processTerminate", fmt.Sprintf(`{"processId":%q,"graceMs":%d}`, id, graceMs))
		var result protocol.TerminateTreeResult
		if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.Survivors == nil || len(result.Survivors) > 0 {
			t.Fatalf("%s: %s", id, m.text)
		}
		return result.Killed
	}
	// A shell that has just forked can lose a signal: so the child says when it is
	// a program of its own.
	w.start("polite", `trap 'kill -9 $!; exit 7' TERM; sh -c 'trap "" TERM; echo ready; exec sleep 60' & echo "$$"; wait`, "")
	text := ""
	for strings.Count(text, "\n") < 2 {
		text += string(w.event("polite").Params.Chunk)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(strings.Replace(text, "ready\n", "", 1)))
	if killed := terminate("polite", 60_000); len(killed) != 2 || killed[0] != pid && killed[1] != pid {
		t.Errorf("killed %v, the leader is %d", killed, pid)
	}
	if code, exit, _ := w.reasons("polite"); code != 7 || exit != "terminated" {
		t.Errorf("exit code %d, reason %q", code, exit)
	}
	w.start("stubborn", `trap '' TERM; (trap '' TERM; sleep 60) & echo ready; wait; sleep 60`, "")
	w.event("stubborn")
	if killed := terminate("stubborn", 50); len(killed) < 2 {
		t.Errorf("killed %v", killed)
	}
	if code, exit, _ := w.reasons("stubborn"); code != 137 || exit != "terminated" {
		t.Errorf("exit code %d, reason %q", code, exit)
	}
	if killed := terminate("stubborn", 0); len(killed) != 0 {
		t.Errorf("killed %v of what has closed", killed)
	}
	w.wantRefused("airlock/processTerminate", `{"processId":"q"}`, -32600, "unknown process id q")
	w.wantRefused("airlock/processTerminate", `{"processId":"polite","graceMs":3600001}`, -32602, "at most 3600000")
	w.wantRefused("airlock/processTerminate", `{"processId":"polite","graceMs":-1}`, -32602, "invalid number")
}

// TestTerminateWaitsAside: a long grace holds up nothing.
func TestTerminateWaitsAside(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	w.start("p", `trap '' TERM; echo ready; sleep 60`, "")
	w.event("p")
	waiting := w.request("airlock/processTerminate", `{"processId":"p","graceMs":3600000}`)
	w.want("environment/status", "{}", `{"result":{"status":"ready"}}`)
	hurry := w.request("airlock/processTerminate", `{"processId":"p"}`)
	if first, second := w.answer(waiting), w.answer(hurry); string(first.Result) != string(second.Result) || first.Error != nil {
		t.Errorf("got %s and %s", first.text, second.text)
	}
}

func TestProcessList(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	connect := listen(t, s)
	w := connect().open("")
	other := connect().open("")
	w.want("airlock/processList", `{}`, `{"result":{"processes":[]}}`)
	w.start("a", "echo out; exit 3", "")
	w.finish("a", 0)
	w.start("b", "sleep 60 & echo ready; wait", "")
	w.event("b")
	other.start("hidden", "sleep 60", "")
	var list protocol.ListResult
	m := w.call("airlock/processList", `{"usage":true}`)
	if err := json.Unmarshal(m.Result, &list); err != nil || len(list.Processes) != 2 {
		t.Fatalf("%v, %s", err, m.text)
	}
	a, b := list.Processes[0], list.Processes[1]
	if a.ProcessID != "a" || a.State != "closed" || a.ExitCode == nil || *a.ExitCode != 3 || a.Usage != nil || a.OutputBytes["stdout"] != 4 {
		t.Errorf("a: %s", m.text)
	}
	if b.ProcessID != "b" || b.State != "running" || b.PID == 0 || b.Usage == nil || b.Usage.Processes != 2 || b.Usage.MemoryBytes == 0 {
		t.Errorf("b: %s", m.text)
	}
	w.wantRefused("airlock/processList", `{"sessionId":"`+other.session+`"}`, -32602, "control socket only")
	w.wantRefused("airlock/processList", `{"after":-1}`, -32602, "invalid number")
	fresh := connect()
	fresh.wantRefused("airlock/processList", `{}`, -32600, "client must call initialize")
}

// TestSwitchedOff: what is switched off is as if it had never been, and nothing
// else changes.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{Disable: protocol.Features()}))()
	m := w.call("initialize", `{"clientName":"x","airlock":{"window":1,"takeover":true}}`)
	if !strings.Contains(m.text, `"features":[]`) {
		t.Errorf("initialize: %s", m.text)
	}
	w.send(`{"method":"initialized"}`)
	w.start("p", "echo 1234567890; cat", `,"pipeStdin":true`)
	if got := string(w.event("p").Params.Chunk); got != "1234567890\n" {
		t.Errorf("got %q", got)
	}
	for _, method := range []string{"processCloseStdin", "processResize", "processSignal", "processTerminate", "processList"} {
		w.wantRefused("airlock/"+method, `{"processId":"p"}`, -32601, "exec-server stub does not implement `airlock/"+method+"` yet")
	}
	if m := w.call("process/start", startParams("q", "true", `,"airlock":{"timeoutMs":1}`)); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("a start with a timeout: %s", m.text)
	}
	w.send(`{"method":"airlock/processWindow","params":{"processId":"p","bytes":1}}`)
	for range w.messages { // until the connection ends, as with every other violation
	}
}

// TestInvisible: a client that asks for nothing of ours gets nothing of ours, but
// what it may ignore in the description of the executor.
func TestInvisible(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{}))().open("")
	w.start("p", "echo x; sleep 60", "")
	texts := []string{w.event("p").text, w.call("process/terminate", `{"processId":"p"}`).text}
	for {
		m := w.event("p")
		texts = append(texts, m.text)
		if m.Method == "process/closed" {
			break
		}
	}
	texts = append(texts, w.call("process/read", `{"processId":"p"}`).text)
	for _, text := range texts {
		if strings.Contains(text, "airlock") {
			t.Errorf("got %s", text)
		}
	}
}

// TestStdinInterleaved: whatever the order of writes, the end of the input and the
// end of the program, the program has read a prefix of what was accepted, exactly;
// one that reads to the end has read all of it.
func TestStdinInterleaved(t *testing.T) {
	t.Parallel()
	w := listen(t, newServer(t, Config{ConcurrentRequests: 4}))().open("")
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		id := "p" + strconv.Itoa(number)
		script, limit := "cat", -1
		if rapid.Bool().Draw(t, "ends early") {
			limit = rapid.IntRange(0, 200_000).Draw(t, "reads")
			script = fmt.Sprintf("head -c %d; exit 0", limit)
		}
		w.start(id, script, `,"pipeStdin":true`)
		steps := rapid.SliceOfN(rapid.IntRange(-1, 100_000), 1, 12).Draw(t, "steps") // -1 closes
		var asked []int                                                              // requests for writes
		var pieces []string
		closedAt := -1
		for i, step := range steps {
			if step < 0 {
				w.request("airlock/processCloseStdin", `{"processId":"`+id+`"}`)
				if closedAt < 0 {
					closedAt = len(pieces)
				}
				continue
			}
			piece := strings.Repeat(string(rune('a'+i)), step)
			pieces = append(pieces, piece)
			asked = append(asked, w.request("process/write", fmt.Sprintf(`{"processId":%q,"chunk":%q,"writeId":"w%d"}`,
				id, base64.StdEncoding.EncodeToString([]byte(piece)), i)))
		}
		if closedAt < 0 {
			closedAt = len(pieces)
			w.request("airlock/processCloseStdin", `{"processId":"`+id+`"}`)
		}
		var accepted strings.Builder
		for i, request := range asked {
			switch status := string(w.answer(request).Result); status {
			case `{"status":"accepted"}`:
				if i >= closedAt {
					t.Fatalf("write %d was accepted after the end", i)
				}
				accepted.WriteString(pieces[i])
			case `{"status":"stdinClosed"}`:
				if i < closedAt {
					t.Fatalf("write %d came before the end, but was refused", i)
				}
			default:
				t.Fatalf("write %d: %s", i, status)
			}
		}
		got, code := w.finish(id, 0)
		want := accepted.String()
		if limit >= 0 && limit < len(want) {
			want = want[:limit]
		}
		if got != want || code != 0 {
			t.Fatalf("the program read %d bytes of %d, exit code %d; equal as far as they go: %v",
				len(got), len(want), code, strings.HasPrefix(want, got))
		}
		w.held = nil
	})
}
