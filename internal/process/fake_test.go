package process

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/spawn"
	"github.com/airlock-exec/airlock/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeChild is a child that does what a test tells it to.
type fakeChild struct {
	events spawn.Events

	mu          sync.Mutex
	input       []byte
	full        chan struct{} // not nil: Write blocks until it is closed
	stdinClosed bool
	interrupted int
	killed      chan struct{} // closed by Kill
	killOnce    sync.Once
	interrupt   error
	ended       bool
}

func (c *fakeChild) Write(p []byte) error {
	c.mu.Lock()
	full := c.full
	c.mu.Unlock()
	if full != nil {
		select {
		case <-full:
		case <-c.killed:
			return io.ErrClosedPipe
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stdinClosed {
		return io.ErrClosedPipe
	}
	c.input = append(c.input, p...)
	return nil
}

func (c *fakeChild) CloseStdin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stdinClosed = true
}

func (c *fakeChild) Interrupt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted++
	return c.interrupt
}

// Kill ends the child as SIGKILL does, unless it has ended.
func (c *fakeChild) Kill() {
	c.killOnce.Do(func() {
		close(c.killed)
		c.mu.Lock()
		ended := c.ended
		c.mu.Unlock()
		if !ended {
			go c.end(137)
		}
	})
}

func (c *fakeChild) read() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.input)
}

// end lets the child exit and close.
func (c *fakeChild) end(code int) {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.events.Exited(code)
	c.events.Closed()
}

// fakeLauncher makes fake children.
type fakeLauncher struct {
	closed atomic.Bool // by the table, at its end
	check  error
	fail   error
	// gate, if not nil, holds launches until it is closed or they are canceled.
	gate     chan struct{}
	children chan *fakeChild
}

// Close implements Launcher.
func (l *fakeLauncher) Close() { l.closed.Store(true) }

func newFakeLauncher() *fakeLauncher { return &fakeLauncher{children: make(chan *fakeChild, 100)} }

func (l *fakeLauncher) Check(*protocol.StartParams) error { return l.check }

func (l *fakeLauncher) Launch(ctx context.Context, _ *protocol.StartParams, adopt func(Child) spawn.Events) error {
	if l.gate != nil {
		select {
		case <-l.gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if l.fail != nil {
		return l.fail
	}
	child := &fakeChild{killed: make(chan struct{})}
	child.events = adopt(child)
	l.children <- child
	return nil
}

// rig is a table over fake children.
type rig struct {
	*testing.T
	table    *Table
	launcher *fakeLauncher
}

func newRig(t *testing.T) *rig {
	launcher := newFakeLauncher()
	table := NewTable(Config{Retention: 80 * time.Second, MaxProcesses: 50}, launcher)
	t.Cleanup(table.Close)
	return &rig{t, table, launcher}
}

// start starts a process with a standard input and returns its child.
func (r *rig) start(id string) *fakeChild {
	r.Helper()
	s, err := r.table.Start(&protocol.StartParams{ProcessID: id, PipeStdin: true})
	if err != nil {
		r.Fatal(err)
	}
	if err := s.Run(); err != nil {
		r.Fatal(err)
	}
	s.Announce()
	return <-r.launcher.children
}

// run runs a start in the background.
func run(s *Starting) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Run() }()
	return done
}

// read reads without waiting.
func (r *rig) read(id string, after uint64) *protocol.ReadResult {
	r.Helper()
	reading, err := r.table.Read(&protocol.ReadParams{ProcessID: id, AfterSeq: &after})
	if err != nil {
		r.Fatal(err)
	}
	return reading.Result
}

// write writes and returns the status, which must be there at once.
func (r *rig) write(id, writeID, data string) protocol.WriteStatus {
	r.Helper()
	w, err := r.table.Write(&protocol.WriteParams{ProcessID: id, WriteID: writeID, Chunk: []byte(data)})
	if err != nil {
		r.Fatal(err)
	}
	if w.Wait != nil {
		r.Fatal("the write waits")
	}
	return w.Status
}

// wantError checks a wire error.
func wantError(t *testing.T, err error, code protocol.Code, message string) {
	t.Helper()
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Code != code || e.Message != message {
		t.Errorf("got error %v, want %d %q", err, code, message)
	}
}
