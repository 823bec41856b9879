package warden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
)

// Names under which the test binary is not the tests.
const (
	testWarden = "airlock-test-warden" // a warden whose sweeps can be watched
	testDaemon = "airlock-test-daemon" // see fakeDaemon
	testHolder = "airlock-test-holder" // does nothing, until its standard input ends
)

func TestMain(m *testing.M) {
	helper.RunIfHelper()
	switch os.Args[0] {
	case testWarden:
		// Not by package os: the race detector waits for a second there.
		syscall.Exit(helper.RunWarden(func(string) {}, testSweep))
	case testDaemon:
		fakeDaemon()
	case testHolder:
		io.Copy(io.Discard, os.Stdin)
	default:
		goleak.VerifyTestMain(m)
	}
}

// testSweep appends a record, "file|text", to its file. A text that begins with
// "stubborn" fails a few times first.
func testSweep(record string) error {
	name, text, _ := strings.Cut(record, "|")
	if strings.HasPrefix(text, "stubborn") && attempts.Add() < 3 {
		return errors.New("not yet")
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, text)
	return err
}

type counter int

var attempts counter

func (c *counter) Add() int { *c++; return int(*c) }

// journal is where a testWarden writes what it sweeps.
type journal string

func newJournal(t *testing.T) journal {
	return journal(filepath.Join(t.TempDir(), "journal"))
}

func (j journal) record(text string) string { return string(j) + "|" + text }

// read returns what has been swept, in that order.
func (j journal) read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(string(j))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// watched executes a testWarden.
func watched() (path string, argv []string, err error) {
	return "/proc/self/exe", []string{testWarden}, nil
}

// create returns a Warden whose process is a testWarden and has time to sweep on
// a busy machine.
func create(t *testing.T, config Config) *Warden {
	if config.Command == nil {
		config.Command = watched
	}
	w := New(config)
	w.patience = 20 * time.Second
	t.Cleanup(w.Close)
	return w
}

// start returns a started Warden.
func start(t *testing.T, config Config) *Warden {
	t.Helper()
	w := create(t, config)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// pidfd returns a descriptor of a process, which is readable when the process
// has exited.
func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// exits tells whether a process exits in time.
func exits(fd int, within time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(within.Milliseconds()))
	for err == unix.EINTR {
		n, err = unix.Poll(fds, int(within.Milliseconds()))
	}
	return n == 1
}

// eventually waits for what nothing tells of.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !fn() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// ready waits until a warden is past its beginnings.
func ready(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the warden is ready", func() bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return string(name) == "airlock-warden\n"
	})
}

// logged is a logger whose lines can be waited for.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
