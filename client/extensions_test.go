package client_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// startAsking starts a process that asks for some of what Airlock adds.
func startAsking(t *testing.T, e client.Executor, id, script string, tty bool, extra *protocol.StartExtra) *client.Process {
	t.Helper()
	params := shell(t, id, script)
	params.TTY, params.PipeStdin, params.Airlock = tty, false, extra
	p, err := e.Start(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// await takes events until the output so far contains a text.
func await(t *testing.T, p *client.Process, text string) {
	t.Helper()
	for got := ""; !strings.Contains(got, text); {
		event, err := p.Next(t.Context())
		if err != nil {
			t.Fatalf("waiting for %q, got %q: %v", text, got, err)
		}
		got += string(event.Data)
	}
}

func TestResize(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := startAsking(t, e, "p", `trap 'stty size' WINCH; stty size; while :; do read x; done`, true,
			&protocol.StartExtra{TerminalSize: &protocol.TerminalSize{Rows: 3, Cols: 4}})
		await(t, p, "3 4\r\n")
		if err := p.Resize(t.Context(), 50, 60); err != nil {
			t.Fatal(err)
		}
		await(t, p, "50 60\r\n")
		if err := p.Resize(t.Context(), 0, 60); err == nil {
			t.Error("no rows, and no error")
		}
		if result, err := p.TerminateTree(t.Context(), 0); err != nil || len(result.Killed) == 0 {
			t.Errorf("killed %v, %v", result, err)
		}
	})
}

func TestSendSignal(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := startAsking(t, e, "p", `trap 'echo got; exit 9' USR2; echo ready; while :; do sleep 0.01; done`, false, nil)
		await(t, p, "ready\n")
		if delivered, err := p.SendSignal(t.Context(), protocol.SignalUSR2); !delivered || err != nil {
			t.Errorf("delivered %v, %v", delivered, err)
		}
		if code, err := p.Wait(t.Context()); code != 9 || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		if delivered, err := p.SendSignal(t.Context(), protocol.SignalUSR2); delivered || err != nil {
			t.Errorf("after the end: delivered %v, %v", delivered, err)
		}
	})
}

// reason returns why a process has ended, as its exit and its close tell.
func reason(t *testing.T, next func() (client.Event, error)) (exit, end protocol.EndReason) {
	t.Helper()
	for {
		event, err := next()
		if errors.Is(err, io.EOF) {
			return exit, end
		}
		if err != nil {
			t.Fatal(err)
		}
		switch event.Kind {
		case client.Exited:
			exit = event.Reason
		case client.Closed:
			end = event.Reason
		case client.Output, client.Gap:
		}
	}
}

// TestReasons: they come with the events, and are read by who comes late.
func TestReasons(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		for _, test := range []struct {
			id, script string
			extra      protocol.StartExtra
			exit, end  protocol.EndReason
		}{
			{"deadline", "sleep 60", protocol.StartExtra{TimeoutMs: new(uint64(50))}, protocol.ReasonDeadline, ""},
			{"idle", "sleep 60", protocol.StartExtra{IdleTimeoutMs: new(uint64(50))}, protocol.ReasonIdle, ""},
			{"left behind", "sleep 60 &", protocol.StartExtra{TimeoutMs: new(uint64(300))}, "", protocol.ReasonDeadline},
			{"none", "exit 137", protocol.StartExtra{TimeoutMs: new(uint64(60_000))}, "", ""},
		} {
			p := startAsking(t, e, test.id, test.script, false, &test.extra)
			exit, end := reason(t, func() (client.Event, error) { return p.Next(t.Context()) })
			if exit != test.exit || end != test.end {
				t.Errorf("%s: reasons %q and %q", test.id, exit, end)
			}
			late := e.Process(test.id) // which has to read it all
			for late == p {            // it is just being forgotten
				runtime.Gosched()
				late = e.Process(test.id)
			}
			exit, end = reason(t, func() (client.Event, error) { return late.Next(t.Context()) })
			if exit != test.exit || end != test.end {
				t.Errorf("%s: who comes late learns %q and %q", test.id, exit, end)
			}
		}
	})
}

func TestProcesses(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		stdin := protocol.Bytes("given")
		p := startAsking(t, e, "b", "cat", false, &protocol.StartExtra{Stdin: &stdin})
		if streams, code := collect(t, p); streams[protocol.StreamStdout] != "given" || code != 0 {
			t.Errorf("%q, exit code %d", streams, code)
		}
		startAsking(t, e, "a", "exec sleep 60", false, nil)
		list, err := e.Processes(t.Context(), true)
		if err != nil || len(list) != 2 || list[0].ProcessID != "b" || list[1].ProcessID != "a" {
			t.Fatalf("%+v, %v", list, err)
		}
		if list[0].Usage != nil || list[1].Usage == nil || list[1].Usage.Processes != 1 {
			t.Errorf("usage %+v and %+v", list[0].Usage, list[1].Usage)
		}
	})
}

// TestLimits: they hold, and the process tells how.
func TestLimits(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		p := startAsking(t, e, "p", "ulimit -n", false, &protocol.StartExtra{
			Limits: &protocol.ProcessLimits{OpenFiles: new(uint64(77))},
		})
		want := protocol.LimitMechanisms{OpenFiles: protocol.LimitRlimit}
		if got := p.LimitMechanisms(); got == nil || *got != want {
			t.Errorf("mechanisms %+v", got)
		}
		if streams, _ := collect(t, p); streams[protocol.StreamStdout] != "77\n" {
			t.Errorf("got %q", streams)
		}
		if p := start(t, e, "q", "true"); p.LimitMechanisms() != nil {
			t.Errorf("without limits: %+v", p.LimitMechanisms())
		}
	})
}

// TestLacking: what an executor can't do is an error, and never ignored.
func TestLacking(t *testing.T) {
	s := server.New(server.Config{Disable: protocol.Features()})
	t.Cleanup(s.Close)
	e, err := client.Connect(t.Context(), s, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	for name, extra := range map[string]protocol.StartExtra{
		"stdin":   {Stdin: &protocol.Bytes{}},
		"timeout": {TimeoutMs: new(uint64(1))},
		"idle":    {IdleTimeoutMs: new(uint64(1))},
		"limits":  {Limits: &protocol.ProcessLimits{}},
		"size":    {TerminalSize: &protocol.TerminalSize{Rows: 1, Cols: 1}},
	} {
		params := shell(t, name, "true")
		params.TTY, params.Airlock = name == "size", &extra
		if _, err := e.Start(t.Context(), params); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := start(t, e, "p", "sleep 60")
	_, signal := p.SendSignal(t.Context(), protocol.SignalHUP)
	_, terminate := p.TerminateTree(t.Context(), time.Second)
	_, list := e.Processes(t.Context(), false)
	for name, err := range map[string]error{
		"signal": signal, "terminate": terminate, "list": list,
		"resize": p.Resize(t.Context(), 1, 1), "close": p.CloseStdin(t.Context()),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if running, err := p.Terminate(t.Context()); !running || err != nil {
		t.Errorf("what all executors can do: %v, %v", running, err)
	}
}

// TestSandboxed: a start with a sandbox asks to be told of it, and what is told can
// be had.
func TestSandboxed(t *testing.T) {
	executors(t, func(t *testing.T, e client.Executor) {
		params := shell(t, "p", "echo x > file")
		params.Sandbox = protocol.ReadOnlySandbox(protocol.NetworkRestricted)
		p, err := e.Start(t.Context(), params)
		if wire, ok := errors.AsType[*protocol.Error](err); ok && wire.Kind() == protocol.KindSandboxUnavailable {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if params.Airlock != nil {
			t.Error("the parameters of the caller have been changed")
		}
		if tier := p.SandboxTier(); p.SandboxType() != protocol.SandboxLinuxSeccomp || tier != protocol.TierNamespaces && tier != protocol.TierLandlock {
			t.Errorf("%s, %s", p.SandboxType(), tier)
		}
		for {
			event, err := p.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if event.Kind == client.Exited {
				if !event.SandboxDenied || event.ExitCode == 0 || event.SetupError != nil {
					t.Errorf("%+v", event)
				}
				break
			}
		}
		if _, err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
