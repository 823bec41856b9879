package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

func TestMain(m *testing.M) {
	server.RunHelper() // a start with limits executes this program again
	goleak.VerifyTestMain(m)
}

// executors are the ways to reach an executor.
func executors(t *testing.T, do func(t *testing.T, e client.Executor)) {
	s := server.New(server.Config{})
	t.Cleanup(s.Close)
	t.Run("in process", func(t *testing.T) {
		e, err := client.Connect(t.Context(), s, client.Options{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		do(t, e)
	})
	t.Run("websocket", func(t *testing.T) {
		l, err := s.Listen(server.ListenConfig{URL: "ws://127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		var serving sync.WaitGroup
		serving.Go(func() { _ = l.Serve() })
		defer serving.Wait()
		defer l.Close()
		e, err := client.Dial(t.Context(), l.URL(), client.Options{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		do(t, e)
	})
}

func shell(t *testing.T, id, script string) *protocol.StartParams {
	t.Helper()
	cwd, err := protocol.PathURIFromNative(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &protocol.StartParams{
		ProcessID: id, Argv: []string{"/bin/sh", "-c", script}, CWD: cwd,
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, PipeStdin: true,
	}
}

func start(t *testing.T, e client.Executor, id, script string) *client.Process {
	t.Helper()
	p, err := e.Start(t.Context(), shell(t, id, script))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// collect takes all events and returns what each stream has got.
func collect(t *testing.T, p *client.Process) (streams map[protocol.Stream]string, code int) {
	t.Helper()
	streams = map[protocol.Stream]string{}
	for last := uint64(0); ; last++ {
		event, err := p.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return streams, code
		}
		if err != nil {
			t.Fatal(err)
		}
		if event.Seq != last+1 {
			t.Errorf("number %d after %d", event.Seq, last)
		}
		streams[event.Stream] += string(event.Data)
		if event.Kind == client.Exited {
			code = event.ExitCode
		}
	}
}

func TestCommand(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := start(t, e, "p", "echo out; echo err >&2; cat; exit 3")
		if p.ID() != "p" || p.SandboxType() != protocol.SandboxNone {
			t.Errorf("process %q, sandbox %q", p.ID(), p.SandboxType())
		}
		input := strings.Repeat("0123456789abcdef", 20_000) // several writes
		if err := p.Write(t.Context(), []byte(input)); err != nil {
			t.Fatal(err)
		}
		if err := p.CloseStdin(t.Context()); err != nil {
			t.Fatal(err)
		}
		streams, code := collect(t, p)
		if streams[protocol.StreamStdout] != "out\n"+input || streams[protocol.StreamStderr] != "err\n" || code != 3 {
			t.Errorf("%d bytes of output, errors %q, exit code %d",
				len(streams[protocol.StreamStdout]), streams[protocol.StreamStderr], code)
		}
		result, err := p.Read(t.Context(), protocol.ReadParams{})
		if err != nil || !result.Closed || *result.ExitCode != 3 {
			t.Errorf("%+v, error %v", result, err)
		}
		if _, err := p.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		if code, err := p.Wait(t.Context()); err != nil || code != 3 {
			t.Errorf("after the end: exit code %d, error %v", code, err)
		}
	})
}

func TestErrors(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		params := shell(t, "p", "")
		params.Argv = []string{"/no/such/program"}
		_, err := e.Start(t.Context(), params)
		if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.Kind() != protocol.KindSpawnNotFound {
			t.Errorf("got %v", err)
		}
		p := start(t, e, "p", "sleep 60")
		if _, err := e.Start(t.Context(), shell(t, "p", "true")); err == nil {
			t.Error("started twice")
		}
		if running, err := p.Terminate(t.Context()); err != nil || !running {
			t.Errorf("terminate: %v, error %v", running, err)
		}
		if code, err := p.Wait(t.Context()); err != nil || code != 137 {
			t.Errorf("exit code %d, error %v", code, err)
		}
		if err := p.Write(t.Context(), []byte("x")); err == nil {
			t.Error("written to a terminated process")
		}
	})
}

func TestSignal(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := start(t, e, "p", `trap "exit 9" INT; echo ready; while :; do sleep 0.01; done`)
		if _, err := p.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(t.Context(), protocol.SignalInterrupt); err != nil {
			t.Fatal(err)
		}
		if code, err := p.Wait(t.Context()); err != nil || code != 9 {
			t.Errorf("exit code %d, error %v", code, err)
		}
	})
}

// TestManyAtOnce: processes side by side, each with its own output.
func TestManyAtOnce(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				p, err := e.Start(t.Context(), shell(t, fmt.Sprint(i), fmt.Sprintf("echo %d; exit %d", i, i)))
				if err != nil {
					t.Error(err)
					return
				}
				var out bytes.Buffer
				for {
					event, err := p.Next(t.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					out.Write(event.Data)
					if event.Kind == client.Exited && event.ExitCode != i {
						t.Errorf("process %d: exit code %d", i, event.ExitCode)
					}
				}
				if out.String() != fmt.Sprintf("%d\n", i) {
					t.Errorf("process %d: %q", i, out.String())
				}
			})
		}
		all.Wait()
	})
}

func TestContextEndsAWait(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := start(t, e, "p", "sleep 60")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestClose: what waits ends, also when nobody has taken the events of a busy
// process.
func TestClose(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		busy := start(t, e, "busy", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
		idle := start(t, e, "idle", "sleep 60")
		waited := make(chan error, 1)
		go func() {
			_, err := idle.Wait(t.Context())
			waited <- err
		}()
		if _, err := busy.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waited; !errors.Is(err, client.ErrDisconnected) {
			t.Errorf("got %v", err)
		}
		if err := idle.Write(t.Context(), []byte("x")); err == nil {
			t.Error("written after the close")
		}
	})
}

func TestConnectFails(t *testing.T) {
	s := server.New(server.Config{})
	s.Close()
	if _, err := client.Connect(t.Context(), s, client.Options{}); !errors.Is(err, server.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Dial(t.Context(), "ws://127.0.0.1:1", client.Options{}); err == nil {
		t.Error("connected to nothing")
	}
	if _, err := client.Dial(t.Context(), "http://127.0.0.1", client.Options{}); err == nil {
		t.Error("connected by HTTP")
	}
}
