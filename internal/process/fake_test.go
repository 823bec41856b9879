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

	"github.com/airlock-exec/airlock/internal/helper/plan"
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
	signals     []spawn.Signal
	size        spawn.Size
	graces      []time.Duration // of terminations
	stubborn    bool            // SIGTERM is ignored
	exceeded    spawn.Exceeded
	lingered    bool
	silent      chan struct{}
	denials     []plan.Denial
	failure     *spawn.SetupFailure
	killed      chan struct{} // closed by Kill
	killOnce    sync.Once
	signalError error
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

func (c *fakeChild) Signal(sig spawn.Signal) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signals = append(c.signals, sig)
	return c.signalError == nil && !c.ended, c.signalError
}

func (c *fakeChild) PID() int { return 4711 }

func (c *fakeChild) Resize(size spawn.Size) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size = size
	return c.signalError
}

// Terminate ends the child as SIGTERM does, or as SIGKILL after the grace.
func (c *fakeChild) Terminate(ctx context.Context, grace time.Duration) (killed, survivors []int) {
	c.mu.Lock()
	c.graces = append(c.graces, grace)
	stubborn := c.stubborn
	c.mu.Unlock()
	if !stubborn && grace > 0 {
		c.killOnce.Do(func() {
			close(c.killed)
			c.end(143)
		})
		return []int{c.PID()}, []int{}
	}
	select {
	case <-time.After(grace):
	case <-ctx.Done():
	}
	c.Kill()
	return []int{c.PID()}, []int{}
}

func (c *fakeChild) Mechanisms() spawn.Mechanisms {
	return spawn.Mechanisms{Memory: "cgroup2", OpenFiles: "rlimit"}
}

// Lingered implements Child: tests in which others hold the streams say so.
func (c *fakeChild) Lingered() bool { return c.lingered }

func (c *fakeChild) Exceeded() spawn.Exceeded { return c.exceeded }

func (c *fakeChild) Denials() []plan.Denial { return c.denials }

func (c *fakeChild) SetupFailure() *spawn.SetupFailure { return c.failure }

func (c *fakeChild) Silent() <-chan struct{} { return c.silent }

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
	confined Confined
}

// Usages implements Launcher.
func (l *fakeLauncher) Usages(children []Child) []spawn.Usage {
	usages := make([]spawn.Usage, len(children))
	for i := range children {
		usages[i] = spawn.Usage{Processes: 3, CPU: 1500 * time.Millisecond, MemoryBytes: 4096}
	}
	return usages
}

// Close implements Launcher.
func (l *fakeLauncher) Close() { l.closed.Store(true) }

func newFakeLauncher() *fakeLauncher { return &fakeLauncher{children: make(chan *fakeChild, 100)} }

func (l *fakeLauncher) Check(*protocol.StartParams) error { return l.check }

func (l *fakeLauncher) Launch(ctx context.Context, _ *protocol.StartParams, adopt func(Child) spawn.Events) (Confined, error) {
	if l.gate != nil {
		select {
		case <-l.gate:
		case <-ctx.Done():
			return Confined{}, context.Cause(ctx)
		}
	}
	if l.fail != nil {
		return Confined{}, l.fail
	}
	child := &fakeChild{killed: make(chan struct{}), silent: make(chan struct{})}
	child.events = adopt(child)
	l.children <- child
	return l.confined, nil
}

// rig is a table over fake children.
type rig struct {
	*testing.T
	table    *Table
	launcher *fakeLauncher
}

func newRig(t *testing.T) *rig {
	launcher := newFakeLauncher()
	table := NewTable(Config{Retention: 80 * time.Second, MaxProcesses: 50, Features: protocol.Features()}, launcher)
	t.Cleanup(table.Close)
	return &rig{t, table, launcher}
}

// start starts a process with a standard input and returns its child.
func (r *rig) start(id string) *fakeChild {
	r.Helper()
	return r.startWith(&protocol.StartParams{ProcessID: id, PipeStdin: true})
}

// startWith starts a process and returns its child.
func (r *rig) startWith(params *protocol.StartParams) *fakeChild {
	r.Helper()
	s, err := r.table.Start(params)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := s.Run(); err != nil {
		r.Fatal(err)
	}
	s.Announce()
	return <-r.launcher.children
}

// run runs a start in the background.
func run(s *Starting) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Run()
		done <- err
	}()
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
