//go:build unix

package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// controlled makes an executor with a control socket, and a client of it.
func controlled(t *testing.T, config server.Config) (s *server.Server, socket string, e client.Executor) {
	t.Helper()
	s = server.New(config)
	t.Cleanup(s.Close)
	l, err := s.ListenControl(server.ControlConfig{Path: filepath.Join(t.TempDir(), "d", "s"), Listen: []string{"stdio"}})
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
	e, err = client.Connect(t.Context(), s, client.Options{Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return s, l.Path(), e
}

func dialControl(t *testing.T, socket string) *client.Control {
	t.Helper()
	c, err := client.DialControl(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// observe takes the events of a process up to its end, checks their numbers, and
// returns its output and exit code.
func observe(t *testing.T, c *client.Control, session, process string, after uint64) (output string, code int, missed uint64) {
	t.Helper()
	var b strings.Builder
	last := after
	for event, err := range c.Events(t.Context(), session, process, after) {
		if err != nil {
			t.Fatal(err)
		}
		first := event.Seq
		if event.Kind == client.Gap {
			first = event.FirstSeq
			missed += event.Missed[protocol.StreamStdout]
		}
		if first != last+1 {
			t.Errorf("number %d after %d", first, last)
		}
		last = event.Seq
		b.Write(event.Data)
		if event.Kind == client.Exited {
			code = event.ExitCode
		}
	}
	return b.String(), code, missed
}

func TestControl(t *testing.T) {
	t.Parallel()
	_, socket, e := controlled(t, server.Config{Version: "v1"})
	c := dialControl(t, socket)
	p := start(t, e, "p", "echo before; read x; echo after; exit 3")
	list, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != e.SessionID() || list.Sessions[0].ClientName != "agent" ||
		list.Executor.Version != "v1" || !slices.Equal(list.Executor.Listen, []string{"stdio"}) {
		t.Errorf("sessions: %+v", list)
	}
	processes, err := c.Processes(t.Context(), e.SessionID(), true)
	if err != nil || len(processes) != 1 || processes[0].ProcessID != "p" || processes[0].Usage == nil || processes[0].Usage.Processes < 1 {
		t.Errorf("processes: %+v, %v", processes, err)
	}

	// What its client has not taken yet may still grow.
	if event, err := p.Next(t.Context()); err != nil || string(event.Data) != "before\n" {
		t.Fatal(event, err)
	}
	// While it runs, and at the same time as its client.
	var observing sync.WaitGroup
	for _, after := range []uint64{0, 1} {
		observing.Go(func() {
			want := "before\nafter\n"
			if after == 1 {
				want = "after\n"
			}
			if got, code, missed := observe(t, c, e.SessionID(), "p", after); got != want || code != 3 || missed != 0 {
				t.Errorf("after %d: observed %q, exit code %d, missed %d", after, got, code, missed)
			}
		})
	}
	if err := p.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if event, err := p.Next(t.Context()); err != nil || string(event.Data) != "after\n" {
		t.Error(event, err)
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 3 {
		t.Errorf("the client has the exit code %d, %v", code, err)
	}
	observing.Wait()
	// And when it has ended.
	if got, code, _ := observe(t, c, e.SessionID(), "p", 0); got != "before\nafter\n" || code != 3 {
		t.Errorf("observed %q, exit code %d", got, code)
	}
	result, err := c.Observe(t.Context(), protocol.ObserveParams{SessionID: e.SessionID(), ProcessID: "p"})
	if err != nil || !result.Closed || len(result.Chunks) != 2 {
		t.Errorf("observed %+v, %v", result, err)
	}
}

// TestControlGap: who observes something fast misses some of it, and knows how much.
func TestControlGap(t *testing.T) {
	t.Parallel()
	_, socket, e := controlled(t, server.Config{SpillBytes: -1})
	c := dialControl(t, socket)
	const total = 5_000_000
	p := start(t, e, "p", "head -c 5000000 /dev/zero; read x; exit 4")
	result, err := c.Observe(t.Context(), protocol.ObserveParams{SessionID: e.SessionID(), ProcessID: "p", WaitMs: new(uint64(10_000))})
	if err != nil || len(result.Chunks) == 0 {
		t.Fatal(result, err)
	}
	for got := 0; got < total; {
		event, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got += len(event.Data)
	}
	if err := p.CloseStdin(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, code, missed := observe(t, c, e.SessionID(), "p", 0)
	if missed == 0 || uint64(len(got))+missed != total || code != 4 {
		t.Errorf("observed %d bytes, missed %d, exit code %d", len(got), missed, code)
	}
}

func TestControlTerminates(t *testing.T) {
	t.Parallel()
	_, socket, e := controlled(t, server.Config{})
	c := dialControl(t, socket)
	p := start(t, e, "p", "exec sleep 60")
	start(t, e, "q", "exec sleep 60")
	result, err := c.TerminateProcess(t.Context(), e.SessionID(), "p", 10*time.Second)
	if err != nil || len(result.Killed) != 1 || len(result.Survivors) != 0 {
		t.Errorf("of p: %+v, %v", result, err)
	}
	for {
		event, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if event.Kind == client.Exited {
			if event.Reason != protocol.ReasonOperator || event.ExitCode != 143 {
				t.Errorf("the client is told %+v", event)
			}
			break
		}
	}
	if _, err := c.TerminateProcess(t.Context(), e.SessionID(), "z", 0); !errors.Is(err, client.ErrUnknownProcess) {
		t.Errorf("of a process that is not there: %v", err)
	}
	waiting := make(chan error, 1)
	go func() {
		var last error
		for _, err := range c.Events(t.Context(), e.SessionID(), "q", 0) {
			last = err
		}
		waiting <- last
	}()
	result, err = c.TerminateSession(t.Context(), e.SessionID(), 0)
	if err != nil || len(result.Killed) != 1 {
		t.Errorf("of the session: %+v, %v", result, err)
	}
	if err := <-waiting; err != nil && !errors.Is(err, client.ErrSessionLost) && !errors.Is(err, client.ErrUnknownProcess) {
		t.Errorf("who observes learns %v", err)
	}
	for _, err := range []error{
		second(c.Processes(t.Context(), e.SessionID(), false)),
		second(c.TerminateSession(t.Context(), e.SessionID(), 0)),
		second(c.Observe(t.Context(), protocol.ObserveParams{SessionID: e.SessionID(), ProcessID: "q"})),
	} {
		if !errors.Is(err, client.ErrSessionLost) {
			t.Errorf("of a session that is not there: %v", err)
		}
	}
	if _, err := e.Status(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("its client learns %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestControlTakeover: over the socket one is a client like others. Who has lost
// the session does not take it back, on whatever connection.
func TestControlTakeover(t *testing.T) {
	t.Parallel()
	s, socket, e := controlled(t, server.Config{})
	start(t, e, "p", "read x; echo got $x")
	options := client.Options{ResumeSessionID: e.SessionID(), Takeover: true}
	operator, err := client.Connect(t.Context(), client.ControlSocket(socket), options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = operator.Close() }()
	if _, err := e.Process("p").Next(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("the client learns %v", err)
	}
	again, err := client.Connect(t.Context(), s, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if _, err := operator.Process("p").Next(t.Context()); !errors.Is(err, client.ErrSessionLost) {
		t.Errorf("who had it over the socket learns %v", err)
	}
	p := again.Process("p")
	if err := p.Write(t.Context(), []byte("it\n")); err != nil {
		t.Fatal(err)
	}
	if streams, _ := collect(t, p); streams[protocol.StreamStdout] != "got it\n" {
		t.Errorf("got %q", streams)
	}
}

// TestControlEnd: the end of the executor is not waited for in vain.
func TestControlEnd(t *testing.T) {
	t.Parallel()
	s, socket, e := controlled(t, server.Config{})
	c := dialControl(t, socket)
	operator, err := client.Connect(t.Context(), client.ControlSocket(socket), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = operator.Close() }()
	start(t, e, "p", "exec sleep 60")
	waiting := make(chan error, 1)
	go func() {
		for _, err := range c.Events(t.Context(), e.SessionID(), "p", 0) {
			waiting <- err
		}
	}()
	for { // until there is something to wait for
		if processes, err := c.Processes(t.Context(), e.SessionID(), false); err != nil {
			t.Fatal(err)
		} else if len(processes) == 1 {
			break
		}
	}
	s.Close()
	if err := <-waiting; !errors.Is(err, client.ErrDisconnected) || !strings.Contains(err.Error(), "the executor has been closed") {
		t.Errorf("who observes learns %v", err)
	}
	if _, err := c.Sessions(t.Context()); !errors.Is(err, client.ErrDisconnected) {
		t.Errorf("who asks learns %v", err)
	}
	if _, err := operator.Status(t.Context()); !errors.Is(err, client.ErrDisconnected) {
		t.Errorf("the client learns %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.DialControl(canceled, socket); err == nil {
		t.Error("dialling without time succeeds")
	}
	if _, err := client.DialControl(t.Context(), socket+"-nowhere"); err == nil || !strings.Contains(err.Error(), "no executor listens there") {
		t.Errorf("dialling nowhere: %v", err)
	}
}
