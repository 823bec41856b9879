package warden

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A warden that has stopped holds nobody up. After a while it counts as dead.
func TestStuck(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	var log logged
	w := create(t, Config{Logger: log.logger()})
	w.stall = 500 * time.Millisecond
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := w.PID()
	if err := unix.Kill(stuck, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 20_000 { // the pipe has room for about a thousand
		w.Add(j.record(fmt.Sprint(i)))
		w.Remove(j.record(fmt.Sprint(i)))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Add and Remove took %v", took)
	}
	w.Add(j.record("last"))
	eventually(t, "another warden", func() bool { return w.PID() != stuck && w.PID() != 0 })
	w.Close()
	if got, want := j.read(t), "last"; got != want {
		t.Errorf("swept %q, want %q", got, want)
	}
}

// Nor does Close wait for one: at all, if nothing is left, else for a bounded
// time.
func TestCloseStuck(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		j := newJournal(t)
		w := create(t, Config{})
		w.patience = 200 * time.Millisecond
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		if left {
			w.Add(j.record("a"))
		}
		fd := pidfd(t, w.PID())
		if err := unix.Kill(w.PID(), unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.Close()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("with something left %v: Close took %v", left, took)
		}
		if !exits(fd, 0) {
			t.Errorf("with something left %v: the warden is there after Close", left)
		}
		if got := j.read(t); got != "" {
			t.Errorf("swept %q", got)
		}
	}
}
