package warden

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlock-exec/airlock/internal/helper"
)

// The end of the pipe has swept what is on the ledger then, the newest first,
// and again what has failed.
func TestSweep(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	w := create(t, Config{})
	w.Add(j.record("before-start"))
	w.Add(j.record("never"))
	w.Remove(j.record("never"))
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "stubborn", "c", "a"} {
		w.Add(j.record(text))
	}
	w.Remove(j.record("b"))
	w.Remove(j.record("unheard-of"))
	w.Close()
	if got, want := j.read(t), "c a before-start stubborn"; got != want {
		t.Errorf("swept %q, want %q", got, want)
	}
	w.Close()
	if err := w.Start(); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
}

// A warden that is killed, as by somebody who frees memory, is replaced, and
// its successor knows everything.
func TestReplaced(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	var log logged
	w := start(t, Config{Logger: log.logger()})
	w.Add(j.record("a"))
	w.Add(j.record("b"))
	w.Add(j.record("c"))
	for range 3 {
		first := w.PID()
		fd := pidfd(t, first)
		if err := unix.Kill(first, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !exits(fd, 10*time.Second) {
			t.Fatal("the warden has survived SIGKILL")
		}
		w.Remove(j.record("b"))
		eventually(t, "another warden", func() bool { return w.PID() != first && w.PID() != 0 })
		if err := unix.Kill(first, 0); err != unix.ESRCH {
			t.Errorf("the dead warden has not been reaped: %v", err)
		}
	}
	if got := j.read(t); got != "" {
		t.Errorf("swept %q while the daemon lives", got)
	}
	w.Add(j.record("d"))
	w.Close()
	if got, want := j.read(t), "d c a"; got != want {
		t.Errorf("swept %q, want %q", got, want)
	}
	if n := strings.Count(log.String(), "the warden has died"); n != 3 || !strings.Contains(log.String(), "how=killed") {
		t.Errorf("%d deaths have been logged, want 3:\n%s", n, log.String())
	}
}

// A ledger that does not fit into the pipe arrives all the same.
func TestLargeLedger(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	w := create(t, Config{})
	var want []string
	for i := range 3000 {
		w.Add(j.record(fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 3000; i < 6000; i++ {
		w.Add(j.record(fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	w.Close()
	slices.Reverse(want)
	if got := j.read(t); got != strings.Join(want, " ") {
		t.Errorf("swept %d records, want %d", len(strings.Fields(got)), len(want))
	}
}

// A warden that can't run is tried again, ever more slowly.
func TestDiesAtOnce(t *testing.T) {
	t.Parallel()
	var log logged
	start(t, Config{Logger: log.logger(), Command: func() (string, []string, error) {
		return "/proc/self/exe", []string{helper.Name, "unheard-of"}, nil
	}})
	eventually(t, "four deaths", func() bool {
		return strings.Count(log.String(), "the warden has died") >= 4
	})
	if !strings.Contains(log.String(), `how="exit status 2"`) {
		t.Errorf("unexpected log:\n%s", log.String())
	}
}

// A program without a helper has no warden. An error that may pass is told once,
// and then tried again, as that of a replacement is.
func TestStartFails(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	var path atomic.Value
	path.Store("")
	var log logged
	w := create(t, Config{Logger: log.logger(), Command: func() (string, []string, error) {
		if path.Load() == "" {
			return "", nil, helper.ErrNoHelper
		}
		return path.Load().(string), []string{testWarden}, nil
	}})
	if err := w.Start(); !errors.Is(err, helper.ErrNoHelper) {
		t.Errorf("Start: %v", err)
	}
	path.Store(missing)
	if err := w.Start(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("Start: %v", err)
	}
	if w.PID() != 0 {
		t.Errorf("process %d", w.PID())
	}
	eventually(t, "a warning", func() bool { return strings.Contains(log.String(), "the warden can't be replaced") })
	path.Store("/proc/self/exe")
	eventually(t, "a warden", func() bool { return w.PID() != 0 })
	path.Store(missing)
	warnings := strings.Count(log.String(), "the warden can't be replaced")
	if pid := w.PID(); pid <= 0 || unix.Kill(pid, unix.SIGKILL) != nil {
		t.Fatalf("process %d", pid)
	}
	eventually(t, "another warning", func() bool {
		return strings.Count(log.String(), "the warden can't be replaced") > warnings
	})
}

// What can't be told is refused, and said.
func TestUnfitRecords(t *testing.T) {
	t.Parallel()
	var log logged
	w := start(t, Config{Logger: log.logger()})
	w.Add("")
	w.Add(strings.Repeat("x", 1<<20))
	if n := strings.Count(log.String(), "the warden can't be told of this"); n != 2 || len(log.String()) > 1000 {
		t.Errorf("logged %d times:\n%.2000s", n, log.String())
	}
	if w.left() != 0 {
		t.Errorf("%d records are on the ledger", w.left())
	}
}

// Nothing is left open, neither descriptors nor processes.
func TestNothingLeft(t *testing.T) {
	once := func() {
		w := create(t, Config{})
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		pid := w.PID()
		w.Add("a")
		w.Remove("a")
		w.Close()
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("the warden is there after Close: %v", err)
		}
	}
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	once() // so that the runtime's poller is there
	before := files()
	for range 5 {
		once()
	}
	if after := files(); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}
