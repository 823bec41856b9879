//go:build unix

package spawn

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/airlock-exec/airlock/internal/helper"
	"github.com/airlock-exec/airlock/internal/spawn/tree"
)

func TestMain(m *testing.M) {
	helper.RunIfHelper()
	if name, ok := os.LookupEnv(helperVariable); ok {
		helpers[name]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helperVariable makes the test binary run one of helpers instead of tests.
const helperVariable = "AIRLOCK_SPAWN_TEST_HELPER"

var helpers = map[string]func(){}

// record keeps what a process reports, in order.
type record struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next event
	output  map[Stream][]byte
	events  []string // what came, repeats folded: "stdout", …, "exited", "closed"
	code    int
	isOver  bool

	exited chan struct{}
	closed chan struct{}
	admit  func(stop <-chan struct{}) // if set, is Admit
}

func newRecord() *record {
	return &record{
		changed: make(chan struct{}),
		output:  make(map[Stream][]byte),
		exited:  make(chan struct{}),
		closed:  make(chan struct{}),
	}
}

func (r *record) add(event string, fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isOver {
		panic("event after Closed: " + event)
	}
	if n := len(r.events); n == 0 || r.events[n-1] != event {
		r.events = append(r.events, event)
	}
	fn()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *record) Admit(stop <-chan struct{}) {
	if r.admit != nil {
		r.admit(stop)
	}
}

func (r *record) Output(s Stream, p []byte) {
	if len(p) == 0 {
		panic("empty output")
	}
	name := map[Stream]string{Stdout: "stdout", Stderr: "stderr", Terminal: "terminal"}[s]
	r.add(name, func() { r.output[s] = append(r.output[s], p...) })
}

func (r *record) Exited(code int) {
	r.add("exited", func() { r.code = code })
	close(r.exited)
}

func (r *record) Closed() {
	r.add("closed", func() { r.isOver = true })
	close(r.closed)
}

// text returns what a stream has given so far.
func (r *record) text(s Stream) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.output[s])
}

// await waits until the output of a stream contains text.
func (r *record) await(t testing.TB, s Stream, text string) {
	t.Helper()
	for {
		r.mu.Lock()
		found, over, changed := bytes.Contains(r.output[s], []byte(text)), r.isOver, r.changed
		r.mu.Unlock()
		if found {
			return
		}
		if over {
			t.Fatalf("process has closed; output %q, want %q", r.text(s), text)
		}
		<-changed
	}
}

func (r *record) history() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, " ")
}

// meansVariable has all tests use certain means to hold trees together.
const meansVariable = "AIRLOCK_SPAWN_TEST_MEANS"

// open returns a Spawner that is to be closed.
func open() *Spawner {
	return New(Config{Means: tree.Means(os.Getenv(meansVariable))})
}

func newSpawner(t testing.TB) *Spawner {
	s := open()
	t.Cleanup(s.Close)
	return s
}

var testEnv = []string{"PATH=/usr/bin:/bin"}

// shell returns a command that runs a script.
func shell(script string) *Command {
	return &Command{Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: testEnv}
}

// onTerminal makes cmd run on a terminal.
func onTerminal(cmd *Command) *Command {
	cmd.TTY = &Size{Rows: 24, Cols: 80}
	return cmd
}

func start(t testing.TB, s *Spawner, cmd *Command) (*Process, *record) {
	t.Helper()
	r := newRecord()
	p, err := startFor(s, cmd, r)
	if err != nil {
		t.Fatalf("Start(%q): %v", cmd.Argv, err)
	}
	return p, r
}

// output runs cmd to its end and returns what it has written to standard
// output or its terminal.
func output(t testing.TB, s *Spawner, cmd *Command) string {
	t.Helper()
	_, r := start(t, s, cmd)
	<-r.closed
	if cmd.TTY != nil {
		return r.text(Terminal)
	}
	if e := r.text(Stderr); e != "" {
		t.Errorf("%q wrote to standard error: %s", cmd.Argv, e)
	}
	return r.text(Stdout)
}

// limitsVariable has all tests start their processes within limits, which none of
// them reaches, so by way of the helper.
const limitsVariable = "AIRLOCK_SPAWN_TEST_LIMITS"

// wide are limits that no test reaches.
var wide = Limits{MemoryBytes: 1 << 33, CPUSeconds: 10_000, Processes: 10_000}

// startFor starts a process that reports to ev.
func startFor(s *Spawner, cmd *Command, ev Events) (p *Process, err error) {
	if os.Getenv(limitsVariable) != "" && cmd.Limits.none() {
		within := *cmd
		within.Limits = wide
		cmd = &within
	}
	err = s.standing.Start(cmd, func(started *Process) Events { p = started; return ev })
	return p, err
}
