//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airlock-exec/airlock/client"
	"github.com/airlock-exec/airlock/internal/transport"
	"github.com/airlock-exec/airlock/protocol"
	"github.com/airlock-exec/airlock/server"
)

// gate connects to a server, and a test can cut the connection and hold back
// the next one.
type gate struct {
	*server.Server

	mu   sync.Mutex // held while no connection is let through
	conn transport.Conn
}

func (g *gate) Connect(ctx context.Context) (transport.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	conn, err := g.Server.Connect(ctx)
	g.conn = conn
	return conn, err
}

// record is a sink that keeps what it is told.
type record struct {
	output bytes.Buffer
	gaps   []client.Event
	first  func() // called at the first event
}

func (*record) started(*startedInfo) error { return nil }

func (r *record) event(e client.Event) error {
	if r.first != nil {
		r.first()
		r.first = nil
	}
	r.output.Write(e.Data)
	if e.Kind == client.Gap {
		r.gaps = append(r.gaps, e)
	}
	return nil
}

// runAcrossACut runs a script whose connection is cut after its first output,
// until it opens the file named pipe.
func runAcrossACut(t *testing.T, config server.Config, script string) (sink *record, status int, err error) {
	t.Helper()
	s := server.New(config)
	defer s.Close()
	g := &gate{Server: s}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	sink = &record{first: func() {
		g.mu.Lock()
		g.conn.Close(errors.New("cut by the test"))
		go func() {
			defer g.mu.Unlock()
			if _, err := os.ReadFile(pipe); err != nil {
				t.Error(err)
			}
		}()
	}}
	r := newRunner(&runCommand{
		Command: []string{"sh", "-c", strings.ReplaceAll(script, "PIPE", pipe)}, processFlags: processFlags{CWD: t.TempDir()},
	})
	r.sink = sink
	r.connect = func(ctx context.Context) (client.Executor, error) {
		return client.Connect(ctx, g, client.Options{})
	}
	status, err = r.run()
	return sink, status, err
}

// TestRunAcrossACut: the command runs on, and nothing of its output is lost.
func TestRunAcrossACut(t *testing.T) {
	sink, status, err := runAcrossACut(t, server.Config{},
		"echo one; seq 1 300000 | tail -c 1500000; >PIPE; echo two; exit 7")
	if status != 7 || err != nil || len(sink.gaps) != 0 {
		t.Errorf("exit status %d, error %v, gaps %v", status, err, sink.gaps)
	}
	if got := sink.output.String(); len(got) != len("one\n")+1_500_000+len("two\n") || !strings.HasSuffix(got, "300000\ntwo\n") {
		t.Errorf("%d bytes of output", len(got))
	}
}

// TestRunWithAGap: output that is missing does not pass for success, and does
// not hide a failure.
func TestRunWithAGap(t *testing.T) {
	for exit, want := range map[string]int{"0": exitRunFailed, "7": 7} {
		sink, status, err := runAcrossACut(t, server.Config{SpillBytes: -1},
			"echo one; head -c 4000000 /dev/zero; >PIPE; exit "+exit)
		if status != want || (err != nil) != (want == exitRunFailed) {
			t.Errorf("exit status %d, error %v", status, err)
		}
		var missed uint64
		for _, gap := range sink.gaps {
			missed += gap.Missed[protocol.StreamStdout]
		}
		if missed == 0 || uint64(sink.output.Len())+missed != 4_000_004 {
			t.Errorf("%d bytes of output, %d missing", sink.output.Len(), missed)
		}
	}
}

// gone is a server that can't be reached any more after the first time.
type gone struct {
	*server.Server

	first atomic.Pointer[transport.Conn]
}

func (g *gone) Connect(ctx context.Context) (transport.Conn, error) {
	conn, err := g.Server.Connect(ctx)
	if err == nil && !g.first.CompareAndSwap(nil, &conn) {
		conn.Close(nil)
		return nil, errors.New("connection refused")
	}
	return conn, err
}

// TestRunWithoutExecutor: an executor that is gone for good is given up in time,
// and the user is told.
func TestRunWithoutExecutor(t *testing.T) {
	t.Parallel()
	s := server.New(server.Config{})
	defer s.Close()
	g := &gone{Server: s}
	r := newRunner(&runCommand{Command: []string{"sh", "-c", "echo; exec sleep 1000"}, processFlags: processFlags{CWD: t.TempDir()}})
	r.sink = &record{first: func() { (*g.first.Load()).Close(errors.New("cut by the test")) }}
	r.connect = func(ctx context.Context) (client.Executor, error) {
		return client.Connect(ctx, g, client.Options{ReconnectTimeout: 200 * time.Millisecond})
	}
	status, err := r.run()
	const want = "the command is lost, and ends with its session if it still runs: disconnected from the executor, " +
		"and it could not be reached again in time: "
	if status != exitRunFailed || err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "connection refused") {
		t.Errorf("exit status %d, error %v", status, err)
	}
}

func TestMissing(t *testing.T) {
	for want, missed := range map[string]map[protocol.Stream]uint64{
		"some output is":                  nil,
		"":                                {},
		"12 bytes of standard output are": {protocol.StreamStdout: 12},
		"1 bytes of standard error and 2 bytes of the terminal's output are": {
			protocol.StreamStderr: 1, protocol.StreamPTY: 2,
		},
	} {
		if got := missing(client.Event{Kind: client.Gap, Missed: missed}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestConnectionNotice: the user is told of a connection that is lost for a
// while, and of nothing else.
func TestConnectionNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		n := &connectionNotice{stderr: &stderr}
		lost := errors.New("reset")
		n.changed(lost)
		time.Sleep(noticeDelay / 2)
		n.changed(nil)
		time.Sleep(time.Minute)
		if stderr.Len() > 0 {
			t.Errorf("told of a short loss: %s", &stderr)
		}
		n.changed(lost)
		time.Sleep(10 * time.Second)
		n.changed(nil)
		want := "airlock: the connection is lost; trying to get it back; Ctrl-C gives up (reset)\n" +
			"airlock: connected again after 10s\n"
		if stderr.String() != want {
			t.Errorf("got %s", &stderr)
		}
		n.changed(lost)
		n.stop()
		time.Sleep(time.Minute)
		if stderr.String() != want {
			t.Errorf("told of a loss after the end: %s", &stderr)
		}
	})
}
