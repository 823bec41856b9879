package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
)

// peer runs the exec-server of Codex and returns its URL.
func peer(t *testing.T) string {
	t.Helper()
	program := os.Getenv("CODEX_BIN")
	if program == "" {
		if os.Getenv("AIRLOCK_REQUIRE_CODEX") != "" {
			t.Fatal("AIRLOCK_REQUIRE_CODEX is set, but CODEX_BIN does not name the program")
		}
		t.Skip("CODEX_BIN does not name the program of Codex, whose exec-server is to be tested with")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	home, err = os.MkdirTemp(home, ".codex-test-") //nolint:usetesting // it refuses a home below the system's temporary folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	command := exec.Command(program, "exec-server", "--listen", "ws://127.0.0.1:0")
	command.Env = append(os.Environ(), "CODEX_HOME="+home)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

func dialPeer(t *testing.T, url string, options client.Options) client.Executor {
	t.Helper()
	e, err := client.Dial(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestPeerCommand: what the dialect has works with the executor of Codex, and
// the rest says so.
func TestPeerCommand(t *testing.T) {
	e := dialPeer(t, peer(t), client.Options{Name: "test"})
	if info := e.Info(); info.Airlock != nil || info.ExecutorVersion == "" {
		t.Errorf("%+v", info)
	}
	p := start(t, e, "p", "echo out; echo err >&2; read x; echo $x; exit 3")
	stdout, stderr := p.Stdout(), p.Stderr()
	if err := p.Write(t.Context(), []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if err := p.CloseStdin(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("close of standard input: %v", err)
	}
	code, err := p.Wait(t.Context())
	text, outErr := io.ReadAll(stdout)
	complaint, errErr := io.ReadAll(stderr)
	if err := errors.Join(err, outErr, errErr); err != nil || string(text) != "out\nhello\n" || string(complaint) != "err\n" || code != 3 {
		t.Errorf("%q, %q, exit code %d, error %v", text, complaint, code, err)
	}
	again := map[protocol.Stream]string{}
	for event, err := range p.Events(t.Context(), 0) {
		if err != nil {
			t.Error(err)
		}
		again[event.Stream] += string(event.Data)
	}
	if again[protocol.StreamStdout] != string(text) || again[protocol.StreamStderr] != string(complaint) {
		t.Errorf("events: %q", again)
	}
	if n, err := p.Wake(t.Context(), 5); !errors.Is(err, io.EOF) {
		t.Errorf("number %d, error %v", n, err)
	}
	for id, want := range map[string]error{"p": client.ErrProcessExists, "q": nil} {
		if _, err := e.Start(t.Context(), shell(t, id, "true")); !errors.Is(err, want) {
			t.Errorf("process %s: %v", id, err)
		}
	}
	if _, err := e.Process("nope").Next(t.Context()); !errors.Is(err, client.ErrUnknownProcess) {
		t.Errorf("a process that is not there: %v", err)
	}
}

// TestPeerOverCuts: output of a process that does not write faster than it is
// kept comes whole, whatever becomes of the connection; and each process is
// started once.
func TestPeerOverCuts(t *testing.T) {
	c := &cuts{most: 60_000}
	c.left.Store(25)
	proxy := cuttingProxy(t, strings.TrimPrefix(peer(t), "ws://"), c)
	e := dialPeer(t, "ws://"+proxy, client.Options{Name: "test"})
	p := start(t, e, "p", "for i in $(seq 1 500); do seq 1 1000; sleep 0.005; done; (sleep 0.1; echo late) & exit 9")
	var watchers sync.WaitGroup
	watchers.Go(func() {
		total := 0
		for event, err := range p.Events(t.Context(), 0) {
			if err != nil || event.Kind == client.Gap {
				t.Errorf("%+v, error %v", event, err)
				return
			}
			total += len(event.Data)
		}
		if want := 500*len(numbers(1000)) + len("late\n"); total != want {
			t.Errorf("watched %d of %d bytes", total, want)
		}
	})
	watchers.Go(func() {
		for i := range 20 {
			q, err := e.Start(t.Context(), shell(t, fmt.Sprint(i), "echo "+fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			text, err := io.ReadAll(q.Stdout())
			if string(text) != fmt.Sprintln(i) || err != nil {
				t.Errorf("process %d: %q, error %v", i, text, err)
			}
		}
	})
	streams, code := collect(t, p)
	if want := strings.Repeat(numbers(1000), 500) + "late\n"; streams[protocol.StreamStdout] != want || code != 9 {
		t.Errorf("%d of %d bytes, exit code %d", len(streams[protocol.StreamStdout]), len(want), code)
	}
	watchers.Wait()
	if left := c.left.Load(); left >= 0 {
		t.Errorf("%d cuts are left", left)
	}
}

// TestPeerGap: what the executor of Codex has dropped is told as a gap of
// unknown size.
func TestPeerGap(t *testing.T) {
	g := &gate{Connector: dialer(peer(t))}
	e, err := client.Connect(t.Context(), g, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	path, written := fifo(t)
	p := start(t, e, "p", "read go; head -c 5000000 /dev/zero; >"+path+"; exit 3")
	if err := p.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
	open := g.shut()
	written()
	open()
	var last uint64
	var kinds []client.EventKind
	received := 0
	for {
		event, err := p.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first := max(event.FirstSeq, 1); event.Kind == client.Gap && first != last+1 || event.Kind != client.Gap && event.Seq != last+1 {
			t.Errorf("%+v after %d", event, last)
		}
		if event.Kind == client.Gap && event.Missed != nil {
			t.Errorf("who has told that %v are missing?", event.Missed)
		}
		last = event.Seq
		received += len(event.Data)
		if event.Kind != client.Output {
			kinds = append(kinds, event.Kind)
		}
	}
	if !slices.Equal(kinds, []client.EventKind{client.Gap, client.Exited, client.Closed}) {
		t.Errorf("events %v", kinds)
	}
	if received < 1_000_000 || received >= 5_000_000 {
		t.Errorf("%d bytes", received)
	}
	if code, err := p.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

// TestPeerSession: another program's session is gone on with once that has let
// go of it.
func TestPeerSession(t *testing.T) {
	url := peer(t)
	first := dialPeer(t, url, client.Options{})
	start(t, first, "p", "echo one; read go; echo two; exit 6")
	_, err := client.Dial(t.Context(), url, client.Options{ResumeSessionID: first.SessionID(), Takeover: true})
	if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.Code != protocol.CodeSessionAttached {
		t.Errorf("while it is in use: %v", err)
	}
	_, err = client.Dial(t.Context(), url, client.Options{ResumeSessionID: "nope"})
	if !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("a session that is not there: %v", err)
	}
	_ = first.Close()
	var second client.Executor
	for second == nil { // until its end has been noticed
		second, err = client.Dial(t.Context(), url, client.Options{ResumeSessionID: first.SessionID()})
		if refused, ok := errors.AsType[*protocol.Error](err); err != nil && (!ok || refused.Code != protocol.CodeSessionAttached) {
			t.Fatal(err)
		}
	}
	defer func() { _ = second.Close() }()
	p := second.Process("p")
	if err := p.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if streams, code := collect(t, p); streams[protocol.StreamStdout] != "one\ntwo\n" || code != 6 {
		t.Errorf("%v, exit code %d", streams, code)
	}
}
